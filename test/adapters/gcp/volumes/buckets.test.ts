/** A volume's bucket beyond the port's contract: no public access, labels, the owner's access, the number of calls. */
import type { Storage } from "@google-cloud/storage";
import { describe, expect, test, vi } from "vitest";
import { accountDigest } from "../../../../adapters/shared/accounts/account-digest.ts";
import type { VolumeName } from "../../../../core/domain/wire/names.ts";
import { account, data, inAMinute, now, objectPath } from "../../../clouds/volumes/steps.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import { createLeapingClock } from "../../../support/clocks/leaping-clock.ts";
import { bucketOf, fake } from "./steps.ts";
import { volumesOver } from "./subject.ts";

describe("a volume's bucket", () => {
  test("has no public access, uniform access control, seven days of soft delete, and the configured region", async () => {
    const { volume } = await expectOk(volumesOver(fake).create(account(), data));
    expect(bucketOf(volume).settings).toEqual({
      location: "europe-west1",
      iamConfiguration: { uniformBucketLevelAccess: { enabled: true }, publicAccessPrevention: "enforced" },
      softDeletePolicy: { retentionDurationSeconds: "604800" },
      cors: [expect.objectContaining({ origin: ["*"] })],
    });
  });

  test("gets CORS rules if it was created without them, when its account lists volumes or the server starts", async () => {
    for (const update of ["list", "sweep"] as const) {
      const owner = account();
      const volumes = volumesOver(fake);
      const { volume } = await expectOk(volumes.create(owner, data));
      const { cors, ...settings } = bucketOf(volume).settings;
      bucketOf(volume).settings = settings;
      await (update === "list" ? expectOk(volumes.list(owner)) : expectOk(volumes.sweep()));
      await volumes.idle();
      expect(bucketOf(volume).settings["cors"]).toEqual(cors);
      expect(cors).toBeDefined();
      fake.faults.clear();
      await expectOk(volumes.list(owner));
      await volumes.idle();
      expect(fake.faults.log).toEqual(["storage.buckets.list"]);
    }
  });

  test("keeps an operator's CORS rules, and gets Portside's rule after them only if they do not suffice", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    const [own] = bucketOf(volume).settings["cors"] as [{ readonly responseHeader: string[] }];
    const app = { origin: ["https://app.example"], method: ["GET"], responseHeader: ["X-App"], maxAgeSeconds: 60 };
    bucketOf(volume).settings["cors"] = [app];
    for (let listing = 0; listing < 2; listing++) {
      await expectOk(volumes.list(owner));
      await volumes.idle();
      expect(bucketOf(volume).settings["cors"]).toEqual([app, own]);
    }
    const open = [app, { origin: ["*"], method: ["*"], responseHeader: [...own.responseHeader, "X-App"] }];
    bucketOf(volume).settings["cors"] = open;
    await expectOk(volumes.list(owner));
    await volumes.idle();
    expect(bucketOf(volume).settings["cors"]).toEqual(open);
  });

  test("identifies its owner by a digest, not by the account's id", async () => {
    const owner = account();
    const { volume } = await expectOk(volumesOver(fake).create(owner, data));
    const { labels, name } = bucketOf(volume);
    expect(labels).toMatchObject({ "portside-owner": accountDigest(owner), "portside-volume": "data" });
    expect(JSON.stringify([labels, name])).not.toContain("someuser");
    const claims = fake.world.live.get("test-project-portside-volumes");
    expect([...(claims?.objects.keys() ?? [])].filter((one) => one.includes("someuser"))).toEqual([]);
  });

  test("grants access to no identity until a service mounts it", async () => {
    const { volume } = await expectOk(volumesOver(fake).create(account(), data));
    expect(bucketOf(volume).policy.bindings).toEqual([]);
  });

  test("keeps access that others have granted", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    const audit = { role: "roles/storage.objectViewer", members: ["group:audit@example.com"] };
    fake.world.setPolicy(bucketOf(volume), { bindings: [...bucketOf(volume).policy.bindings, audit] });
    await expectOk(volumes.beginDelete(volume));
    await expectOk(volumes.moveToTrash(volume, now()));
    await expectOk(volumes.restore(owner, volume.id));
    expect(bucketOf(volume).policy.bindings).toEqual([audit]);
  });

  test("has a valid name, even if the volume's name contains 'google'", async () => {
    const name = "google-exports" as VolumeName;
    const owner = account();
    const { volume } = await expectOk(volumesOver(fake).create(owner, name));
    expect(await expectOk(volumesOver(fake).find(owner, name))).toEqual({ kind: "held", volume });
  });

  test("does not count as a volume with another account's digest, whatever its name", async () => {
    const owner = account();
    const { volume } = await expectOk(volumesOver(fake).create(owner, data));
    bucketOf(volume).labels["portside-owner"] = accountDigest(account());
    expect(await expectOk(volumesOver(fake).list(owner))).toEqual([]);
    expect((await expectError(volumesOver(fake).beginDelete(volume))).kind).toBe("not_found");
    expect((await expectError(volumesOver(fake).restore(owner, volume.id))).kind).toBe("not_found");
  });
});

describe("calls", () => {
  test("list: one call for any number of volumes", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    for (const size of [1, 12]) {
      for (let index = 0; index < size; index++) await expectOk(volumes.create(owner, `v${index}` as VolumeName));
      fake.faults.clear();
      expect(await expectOk(volumes.list(owner))).toHaveLength(size);
      expect(fake.faults.log).toEqual(["storage.buckets.list"]);
    }
  });

  test("list: follows pages", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    const sample = bucketOf(volume);
    const copies = Array.from({ length: 1500 }, (_, index) => `${volume.id.slice(0, 20)}${index}x`);
    for (const name of copies) {
      const labels = { ...sample.labels, "portside-volume": `v${name.slice(-8)}`.replaceAll("-", "0") };
      fake.world.live.set(name, { ...sample, name, labels });
    }
    fake.faults.clear();
    expect((await expectOk(volumes.list(owner))).length).toBeGreaterThan(1000);
    expect(fake.faults.log).toEqual(["storage.buckets.list", "storage.buckets.list"]);
    for (const name of copies) fake.world.live.delete(name);
  });

  test("find: one call for an existing volume, two for a missing one", async () => {
    const owner = account();
    await expectOk(volumesOver(fake).create(owner, data));
    fake.faults.clear();
    await expectOk(volumesOver(fake).find(owner, data));
    expect(fake.faults.log).toEqual(["storage.buckets.list"]);
    await expectOk(volumesOver(fake).find(account(), data));
    expect(fake.faults.log.slice(1)).toEqual(["storage.buckets.list", "storage.objects.list"]);
  });

  test("signing a URL takes no call if the credentials have a key", async () => {
    const { volume } = await expectOk(volumesOver(fake).create(account(), data));
    fake.faults.clear();
    await expectOk(volumesOver(fake).grantDownload(volume, objectPath, inAMinute()));
    expect(fake.faults.log).toEqual([]);
  });
});

test("fails with `unavailable` if the storage never responds", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const silent = { request: () => undefined } as unknown as Storage;
  const found = volumesOver(fake, { storage: silent, clock: createLeapingClock() }).find(account(), data);
  let end: string | undefined;
  void found.match(
    () => undefined,
    ({ kind }) => {
      end = kind;
    },
  );
  for (let minutes = 0; minutes < 60 && end === undefined; minutes++) await vi.advanceTimersByTimeAsync(60_000);
  vi.useRealTimers();
  expect(end).toBe("unavailable");
});
