/** Races on Cloud Storage, within one replica or between several, and interrupted calls. */
import { describe, expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { accountDigest } from "../../../../adapters/shared/accounts/account-digest.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { volumeRaceTests } from "../../../clouds/volumes/races.ts";
import { account, data, now } from "../../../clouds/volumes/steps.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import { bucketOf, cloud, fake } from "./steps.ts";
import { volumesOver } from "./subject.ts";

volumeRaceTests(cloud);

describe("concurrent calls of several replicas", () => {
  test("a restore that overtakes a move to the trash loses no object", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    const paths = Array.from({ length: 60 }, (_, index) => `f${String(index).padStart(3, "0")}`);
    for (const path of paths) fake.world.putObject(bucketOf(volume), { name: path, bytes: Buffer.from(path) });
    await expectOk(volumes.beginDelete(volume));
    const discarded = volumes.moveToTrash(volume, now());
    while (fake.world.live.get(volume.id)?.deleted.length === 0) await new Promise(setImmediate);
    const back = await volumesOver(fake).restore(owner, volume.id);
    const end = await discarded;
    expect(back.isOk()).toBe(true);
    if (end.isErr()) expect(end.error.kind).toBe("conflict");
    const live = await expectOk(volumes.list(owner));
    expect(live.map(({ id }) => id)).toEqual([volume.id]);
    expect([...bucketOf(volume).objects.keys()].sort()).toEqual(paths);
  });
});

describe("changes by other calls", () => {
  const claimOf = (owner: AccountId) =>
    [fake.world.bucket("test-project-portside-volumes").objects, `data/${accountDigest(owner)}`] as const;

  test("a bucket whose claim disappears during creation does not become a volume, and a new bucket is created", async () => {
    const owner = account();
    await expectOk(volumesOver(fake).create(account(), data));
    const [claims, name] = claimOf(owner);
    fake.meanwhile("storage.buckets.insert", () => void claims.delete(name));
    const { volume, created } = await expectOk(volumesOver(fake).create(owner, data));
    expect([created, claims.get(name)?.metadata["bucket"]]).toEqual([true, volume.id]);
    const own = [...fake.world.live.values()].filter(({ labels }) => labels["portside-owner"] === accountDigest(owner));
    expect(own.map((bucket) => bucket.name)).toEqual([volume.id]);
    expect(await expectOk(volumesOver(fake).trash(owner))).toEqual([]);
  });

  test("a volume that is restored while it is being emptied is complete", async () => {
    const { volume } = await expectOk(volumesOver(fake).create(account(), data));
    for (const name of ["a", "b", "c"]) fake.world.putObject(bucketOf(volume), { name, bytes: Buffer.from(name) });
    await expectOk(volumesOver(fake).beginDelete(volume));
    fake.meanwhile("storage.objects.delete", () => {
      bucketOf(volume).labels["portside-state"] = "live";
      fake.world.touch(bucketOf(volume));
    });
    expect((await expectError(volumesOver(fake).moveToTrash(volume, now()))).kind).toBe("conflict");
    expect([...bucketOf(volume).objects.keys()].sort()).toEqual(["a", "b", "c"]);
  });

  test("a policy change while a volume is being emptied does not prevent its deletion", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    for (const name of ["a", "b"]) fake.world.putObject(bucketOf(volume), { name, bytes: Buffer.from(name) });
    await expectOk(volumes.beginDelete(volume));
    fake.meanwhile("storage.objects.delete", () => {
      fake.world.setPolicy(bucketOf(volume), {
        bindings: [{ role: "roles/storage.objectUser", members: ["user:a@b"] }],
      });
    });
    await expectOk(volumes.moveToTrash(volume, now()));
    expect(fake.world.live.has(volume.id)).toBe(false);
    await expectOk(volumes.restore(owner, volume.id));
    expect([...bucketOf(volume).objects.keys()].sort()).toEqual(["a", "b"]);
  });

  test("an object uploaded during a restore stays", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    fake.world.putObject(bucketOf(volume), { name: "a", bytes: Buffer.from("old") });
    await expectOk(volumes.beginDelete(volume));
    await expectOk(volumes.moveToTrash(volume, now()));
    fake.meanwhile("storage.objects.restore", () => {
      fake.world.putObject(bucketOf(volume), { name: "a", bytes: Buffer.from("new") });
    });
    await expectOk(volumes.restore(owner, volume.id));
    expect(bucketOf(volume).objects.get("a")?.bytes.toString()).toBe("new");
  });
});

describe("interrupted calls", () => {
  const later = (millis: number) => createManualClock(new Date(Date.now() + millis).toISOString());

  test("a listing completes an interrupted move to the trash, next to a call that is still running", async () => {
    const owner = account();
    const { volume } = await expectOk(volumesOver(fake).create(owner, data));
    for (let index = 0; index < 60; index++)
      fake.world.putObject(bucketOf(volume), { name: `o${index}`, bytes: Buffer.from("x") });
    await expectOk(volumesOver(fake).beginDelete(volume));
    const slow = volumesOver(fake).moveToTrash(volume, now());
    while (fake.world.live.get(volume.id)?.deleted.length === 0) await new Promise(setImmediate);
    const other = volumesOver(fake, { clock: later(120_000) });
    expect(await expectOk(other.list(owner))).toEqual([]);
    await other.idle();
    await expectOk(slow);
    expect(fake.world.live.has(volume.id)).toBe(false);
    expect((await expectOk(other.trash(owner))).map(({ id }) => id)).toEqual([volume.id]);
    await expectOk(other.restore(owner, volume.id));
    expect(bucketOf(volume).objects.size).toBe(60);
  });

  test("an interrupted creation is cleaned up if no claim names its bucket, and completed by the next call otherwise", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    const unmade = { "portside-state": "making", "portside-at": String(BigInt(Date.now()) * 1_000_000n) };
    Object.assign(bucketOf(volume).labels, unmade);
    for (const [isClaimed, millis] of [
      [true, 3_600_000],
      [false, 300_000],
      [false, 3_600_000],
    ] as const) {
      const claims = fake.world.bucket("test-project-portside-volumes");
      if (!isClaimed) fake.world.removeObject(claims, `data/${accountDigest(owner)}`);
      const other = volumesOver(fake, { clock: later(millis) });
      expect(await expectOk(other.list(owner))).toEqual([]);
      await other.idle();
      expect(fake.world.live.has(volume.id)).toBe(isClaimed || millis < 600_000);
      if (isClaimed) {
        expect(await expectOk(other.create(owner, data))).toMatchObject({ created: true, volume: { id: volume.id } });
        Object.assign(bucketOf(volume).labels, unmade);
      }
    }
    expect(await expectOk(volumes.trash(owner))).toEqual([]);
  });
});
