/** Volume buckets beyond the port's contract: public access, tags, ownership, and the number of calls. */
import { describe, expect, test } from "vitest";
import { accountDigest } from "../../../../adapters/shared/accounts/account-digest.ts";
import { createSystemClock } from "../../../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { VolumeName } from "../../../../core/domain/wire/names.ts";
import { account, data, deleteVolume, inAMinute, now, objectPath } from "../../../clouds/volumes/steps.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import { startFakeS3 } from "../../../fakes/aws/s3/index.ts";
import type { CorsRule } from "../../../fakes/aws/s3/world.ts";
import { STATE_BUCKET } from "../../../fakes/aws/test-config.ts";
import { bucketOf, fake, files, recordsOf, writeRecords } from "./steps.ts";
import { volumesOver } from "./subject.ts";

describe("a volume's bucket", () => {
  test("has no public access, bucket-owner ownership, and versions that expire after seven days", async () => {
    const { volume } = await expectOk(volumesOver(fake).create(account(), data));
    const { ownership, publicAccessBlock, versioning, lifecycle, policy } = bucketOf(volume);
    expect([ownership, versioning, policy]).toEqual(["BucketOwnerEnforced", "Enabled", undefined]);
    expect(Object.values(publicAccessBlock ?? {})).toEqual([true, true, true, true]);
    expect(lifecycle).toEqual([
      { id: "portside-versions", isEnabled: true, expiresMarkers: true, noncurrentDays: 7 },
      { id: "portside-uploads", isEnabled: true, expiresMarkers: false, uploadDays: 1 },
    ]);
  });

  test("gets CORS rules if it was created without them, when its account lists volumes or the server starts", async () => {
    for (const update of ["list", "sweep"] as const) {
      const owner = account();
      const volumes = volumesOver(fake);
      const { volume } = await expectOk(volumes.create(owner, data));
      const { cors } = bucketOf(volume);
      expect(cors).toHaveLength(1);
      bucketOf(volume).cors = [];
      writeRecords(
        owner,
        recordsOf(owner).map(({ cors: _version, ...record }) => record),
      );
      await (update === "list" ? expectOk(volumes.list(owner)) : expectOk(volumes.sweep()));
      await volumes.idle();
      expect(bucketOf(volume).cors).toEqual(cors);
      fake.faults.clear();
      await expectOk(volumes.list(owner));
      await volumes.idle();
      expect(fake.faults.log).not.toContain("s3.PutBucketCors");
    }
  });

  test("keeps an operator's CORS rules, and gets Portside's rule after them only if they do not suffice", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    const [own] = bucketOf(volume).cors as [CorsRule];
    const app = { ...own, origins: ["https://app.example"], methods: ["GET"], headers: ["X-App"] };
    const update = async (cors: CorsRule[]) => {
      bucketOf(volume).cors = cors;
      writeRecords(
        owner,
        recordsOf(owner).map(({ cors: _version, ...record }) => record),
      );
      await expectOk(volumes.list(owner));
      await volumes.idle();
      return bucketOf(volume).cors;
    };
    expect(await update([app])).toEqual([app, own]);
    const open = [app, { ...own, headers: ["*"], methods: [...own.methods, "DELETE"] }];
    expect(await update(open)).toEqual(open);
  });

  test("identifies its owner by a digest, not by the account's id", async () => {
    const owner = account();
    const { volume } = await expectOk(volumesOver(fake).create(owner, data));
    const { tags, name } = bucketOf(volume);
    expect(tags).toEqual({ "portside-owner": accountDigest(owner), "portside-volume": "data" });
    const written = [...fake.world.bucket(STATE_BUCKET).objects].map(([key, { bytes }]) => `${key}${bytes}`);
    expect(JSON.stringify([name, tags, written])).not.toContain("someuser");
  });

  test("does not belong to another account, whatever its id", async () => {
    const { volume } = await expectOk(volumesOver(fake).create(account(), data));
    const stolen = { ...volume, owner: account() };
    expect((await expectError(volumesOver(fake).beginDelete(stolen))).kind).toBe("not_found");
    expect((await expectError(volumesOver(fake).stat(stolen, objectPath))).kind).toBe("not_found");
    expect((await expectError(volumesOver(fake).restore(stolen.owner, volume.id))).kind).toBe("not_found");
  });

  test("gets a different name if another AWS account owns its name", async () => {
    const ids = ["taken000000000000000", "call0000000000000000", "other000000000000000"];
    let asked = 0;
    const id = () => ids[asked++] ?? `id-${asked}-000000000000000`;
    const owner = account();
    const first = `ps-${accountDigest(owner).slice(0, 20)}-data-taken000`;
    fake.world.strangers.add(first);
    const { volume, created } = await expectOk(
      volumesOver(fake, { ids: { id, secret: () => "" } }).create(owner, data),
    );
    expect([created, volume.id === first, recordsOf(owner).map((one) => one.id)]).toEqual([true, false, [volume.id]]);
  });

  test("is configured even if S3 shows it late, and its creation pauses only in that case", async () => {
    const pauses: number[] = [];
    const sleep = async (millis: number): Promise<void> => void pauses.push(millis);
    const volumes = volumesOver(fake, { clock: { ...createSystemClock(), sleep } });
    await expectOk(volumes.create(account(), data));
    expect(pauses).toEqual([]);
    fake.world.unknownLooks = 2;
    const { volume } = await expectOk(volumes.create(account(), data));
    fake.world.unknownLooks = 0;
    expect([bucketOf(volume).versioning, bucketOf(volume).lifecycle.length]).toEqual(["Enabled", 2]);
    expect(pauses).toEqual([250, 250]);
  });

  test("is not created beyond the bucket quota", async () => {
    const full = await startFakeS3({ buckets: [STATE_BUCKET] });
    full.world.maxBuckets = 1;
    const error = await expectError(volumesOver(full).create(account(), data));
    expect(error).toMatchObject({ kind: "unavailable", message: expect.stringContaining("bucket quota") });
    await full.close();
  });

  test("that was deleted by hand loses its volume's record on restore", async () => {
    const owner = account();
    const volumes = volumesOver(fake, { files: files.client });
    const { volume } = await expectOk(volumes.create(owner, data));
    await deleteVolume(volumes, volume);
    fake.world.live.delete(volume.id);
    expect((await expectError(volumes.restore(owner, volume.id))).kind).toBe("not_found");
    expect(recordsOf(owner)).toEqual([]);
  });
});

describe("calls", () => {
  const many = (owner: AccountId, count: number) => {
    const at = String(BigInt(Date.now()) * 1_000_000n);
    const one = (index: number) => ({
      id: `ps-${index}`,
      name: `v${index}`,
      state: "live",
      call: "c",
      at,
      createdAt: now(),
      cors: 1,
    });
    writeRecords(
      owner,
      Array.from({ length: count }, (_, index) => one(index)),
    );
  };

  test("list: one call for any number of volumes", async () => {
    const owner = account();
    for (const size of [1, 12, 3000]) {
      many(owner, size);
      fake.faults.clear();
      expect(await expectOk(volumesOver(fake).list(owner))).toHaveLength(size);
      expect(fake.faults.log).toEqual(["s3.GetObject"]);
    }
  });

  test("find: one call for an existing volume, two for a missing one; trash: one", async () => {
    const owner = account();
    await expectOk(volumesOver(fake).create(owner, data));
    fake.faults.clear();
    await expectOk(volumesOver(fake).find(owner, data));
    expect(fake.faults.log).toEqual(["s3.GetObject"]);
    await expectOk(volumesOver(fake).find(account(), data));
    expect(fake.faults.log.slice(1)).toEqual(["s3.GetObject", "s3.ListObjectsV2"]);
    fake.faults.clear();
    await expectOk(volumesOver(fake).trash(owner));
    expect(fake.faults.log).toEqual(["s3.GetObject"]);
  });

  test("a listing reads the record once for any number of pages", async () => {
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(account(), data));
    for (let index = 0; index <= 1000; index++)
      fake.world.putObject(bucketOf(volume), { name: `o${index}`, bytes: Buffer.from("x") });
    fake.faults.clear();
    expect((await expectOk(volumes.objects(volume, { prefix: "", limit: 1000 }))).more).toBe(true);
    expect(fake.faults.log).toEqual(["s3.GetObject", "s3.ListObjectsV2", "s3.ListObjectsV2"]);
  });

  test("signing a URL takes no call, a check takes one", async () => {
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(account(), data));
    fake.faults.clear();
    await expectOk(volumes.grantDownload(volume, objectPath, inAMinute()));
    expect(fake.faults.log).toEqual([]);
    await expectOk(volumes.check());
    expect(fake.faults.log).toEqual(["s3.HeadBucket"]);
  });

  test("a platform without its bucket fails as unavailable", async () => {
    const bare = await startFakeS3();
    const words = expect.stringContaining(STATE_BUCKET);
    expect(await expectError(volumesOver(bare).check())).toMatchObject({ kind: "unavailable", message: words });
    const owner = account();
    expect(await expectError(volumesOver(bare).list(owner))).toMatchObject({ kind: "unavailable", message: words });
    expect((await expectError(volumesOver(bare).create(owner, data))).kind).toBe("unavailable");
    expect((await expectError(volumesOver(bare).find(owner, "x" as VolumeName))).kind).toBe("unavailable");
    await bare.close();
  });

  test("an unreadable record does not count as empty", async () => {
    const owner = account();
    await expectOk(volumesOver(fake).create(owner, data));
    const state = fake.world.bucket(STATE_BUCKET);
    for (const text of ["{", '{"version":2,"volumes":[]}']) {
      fake.world.putObject(state, { name: `volumes/${accountDigest(owner)}.json`, bytes: Buffer.from(text) });
      expect((await expectError(volumesOver(fake).list(owner))).message).toContain("is not readable");
      expect((await expectError(volumesOver(fake).create(owner, data))).kind).toBe("unavailable");
    }
  });
});
