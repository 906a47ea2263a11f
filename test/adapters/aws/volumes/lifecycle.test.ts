/** The lifecycle of a bucket when its volume is deleted and restored: operators' rules stay, and uploads end. */
import {
  GetBucketLifecycleConfigurationCommand,
  type LifecycleRule,
  PutBucketLifecycleConfigurationCommand,
} from "@aws-sdk/client-s3";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { liveLifecycle, trashLifecycle, withLifecycle } from "../../../../adapters/aws/volumes/bucket-settings.ts";
import type { ObjectPath } from "../../../../core/domain/volumes/object-path.ts";
import type { Instant } from "../../../../core/domain/wire/instant.ts";
import type { StoredVolume } from "../../../../core/ports/volume-store.ts";
import { account, data, deleteVolume } from "../../../clouds/volumes/steps.ts";
import { expectOk } from "../../../contracts/support.ts";
import { recordingLogger } from "../../../support/logs/silent-logger.ts";
import { bucketOf, fake } from "./steps.ts";
import { volumesOver } from "./subject.ts";

const archive: LifecycleRule = {
  ID: "archive",
  Status: "Enabled",
  Filter: { And: { Prefix: "logs/", ObjectSizeGreaterThan: 1000 } },
  Transitions: [{ Days: 90, StorageClass: "GLACIER" }],
};
const expiry: LifecycleRule = {
  ID: "expiry",
  Status: "Disabled",
  Filter: { Prefix: "tmp/" },
  Expiration: { Date: new Date("2030-01-01T00:00:00Z") },
};

const lifecycleOf = async ({ id: Bucket }: StoredVolume) => {
  const found = await fake.client.send(new GetBucketLifecycleConfigurationCommand({ Bucket }));
  return { rules: found.Rules ?? [], minimumSize: found.TransitionDefaultMinimumObjectSize };
};

const setRules = ({ id: Bucket }: StoredVolume, Rules: LifecycleRule[]) =>
  fake.client.send(
    new PutBucketLifecycleConfigurationCommand({
      Bucket,
      LifecycleConfiguration: { Rules },
      TransitionDefaultMinimumObjectSize: "varies_by_storage_class",
    }),
  );

const idsOf = (rules: readonly LifecycleRule[]) => rules.map(({ ID }) => ID);

describe("an operator's lifecycle rules", () => {
  test("stay as they are while the volume is deleted and restored", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    const created = await lifecycleOf(volume);
    await setRules(volume, [archive, ...created.rules, expiry]);
    await deleteVolume(volumes, volume);
    const trashed = await lifecycleOf(volume);
    expect(trashed.rules.slice(0, 2)).toEqual([archive, expiry]);
    expect(idsOf(trashed.rules.slice(2))).toEqual(["portside-trash", "portside-trash-versions", "portside-uploads"]);
    await expectOk(volumes.restore(owner, volume.id));
    const restored = await lifecycleOf(volume);
    expect(restored.rules).toEqual([archive, expiry, ...created.rules]);
    expect([trashed.minimumSize, restored.minimumSize]).toEqual(["varies_by_storage_class", "varies_by_storage_class"]);
  });

  test("stay as they are when a restore replaces the rules of an earlier version of Portside", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    await deleteVolume(volumes, volume);
    const former = ["trash", "trash-versions", "uploads-that-never-ended", "replaced-versions"];
    await setRules(volume, [archive, ...former.map((ID) => ({ ...expiry, ID }))]);
    await expectOk(volumes.restore(owner, volume.id));
    expect(idsOf((await lifecycleOf(volume)).rules)).toEqual(["archive", "portside-versions", "portside-uploads"]);
  });

  test("may have the former form, which S3 does not accept together with Portside's rules", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    const { Filter: _, ...rule } = expiry;
    await setRules(volume, [{ ...rule, Prefix: "tmp/" }]);
    await deleteVolume(volumes, volume);
    expect((await lifecycleOf(volume)).rules[0]).toEqual(expiry);
    await expectOk(volumes.restore(owner, volume.id));
    expect((await lifecycleOf(volume)).rules[0]).toEqual(expiry);
  });

  test("do not have to exist: a bucket without a lifecycle gets Portside's rules", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    bucketOf(volume).sentLifecycle = undefined;
    await deleteVolume(volumes, volume);
    expect((await lifecycleOf(volume)).rules).toHaveLength(3);
  });
});

test("Portside's rules replace all its earlier ones, and keep the others in their order", () => {
  const own = fc.constantFrom(...idsOf(trashLifecycle({}, 0n as Instant)), ...idsOf(liveLifecycle()));
  const foreign = fc.string().filter((id) => !id.startsWith("portside-"));
  const anyId = fc.oneof(own, fc.constantFrom("trash", "replaced-versions"), foreign, fc.constant(undefined));
  fc.assert(
    fc.property(fc.array(anyId), fc.boolean(), (ids, isLive) => {
      const rules = ids.map((ID): LifecycleRule => ({ ...expiry, ID }));
      const wanted = isLive ? liveLifecycle() : trashLifecycle({}, 0n as Instant);
      const kept = rules.filter(
        ({ ID }) => ID?.startsWith("portside-") !== true && ID !== "trash" && ID !== "replaced-versions",
      );
      expect(withLifecycle(rules, wanted)).toEqual([...kept, ...wanted]);
      expect(withLifecycle(withLifecycle(rules, trashLifecycle({}, 0n as Instant)), wanted)).toEqual([
        ...kept,
        ...wanted,
      ]);
    }),
  );
});

describe("the incomplete uploads of a deleted volume", () => {
  const begun = async (count: number, logger = recordingLogger()) => {
    const volumes = volumesOver(fake, { logger: logger.logger });
    const { volume } = await expectOk(volumes.create(account(), data));
    for (let at = 0; at < count; at++)
      await expectOk(volumes.uploadsInParts.begin(volume, `folder ${at}/\u{e9}+%.txt` as ObjectPath));
    expect(bucketOf(volume).uploads.size).toBe(count);
    fake.faults.clear();
    return { volumes, volume, logged: logger.logged };
  };

  test("end with the deletion, whatever their names are", async () => {
    const { volumes, volume, logged } = await begun(40);
    await deleteVolume(volumes, volume);
    expect(bucketOf(volume).uploads.size).toBe(0);
    expect([fake.faults.count("s3.ListMultipartUploads"), fake.faults.count("s3.AbortMultipartUpload")]).toEqual([
      1, 40,
    ]);
    expect(logged).toEqual([]);
  });

  test.each(["s3.ListMultipartUploads", "s3.AbortMultipartUpload"])(
    "do not prevent the deletion if the platform may not call %s",
    async (method) => {
      const { volumes, volume, logged } = await begun(1);
      fake.faults.inject({ method, nth: 1, kind: "permission_denied" });
      await deleteVolume(volumes, volume);
      expect(bucketOf(volume).policy).toBeDefined();
      expect(bucketOf(volume).uploads.size).toBe(1);
      expect(logged.join("\n")).toContain("not all incomplete uploads of a deleted volume were aborted");
    },
  );
});
