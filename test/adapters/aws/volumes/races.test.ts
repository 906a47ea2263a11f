/** Races between S3 calls of one or several replicas, and interrupted calls. */
import { describe, expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import type { VolumeName } from "../../../../core/domain/wire/names.ts";
import { volumeRaceTests } from "../../../clouds/volumes/races.ts";
import { account, data, deleteVolume, now, put } from "../../../clouds/volumes/steps.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import { STATE_BUCKET } from "../../../fakes/aws/test-config.ts";
import { bucketOf, cloud, fake, files, recordsOf, writeRecords } from "./steps.ts";
import { volumesOver } from "./subject.ts";

/** A replica that is killed right after its call of the command. Another replica acts right before that call. */
const dyingAfter = (command: string, meanwhile: () => Promise<void>) => {
  const died = Promise.withResolvers<void>();
  let isDead = false;
  const send = async (one: object, ...rest: unknown[]): Promise<unknown> => {
    if (isDead) return new Promise(() => undefined);
    const isLast = one.constructor.name === command;
    if (isLast) await meanwhile();
    const answer = await (fake.client.send as (...args: unknown[]) => Promise<unknown>)(one, ...rest);
    if (!isLast) return answer;
    isDead = true;
    died.resolve();
    return new Promise(() => undefined);
  };
  return { client: Object.assign(Object.create(fake.client), { send }) as typeof fake.client, died: died.promise };
};

volumeRaceTests(cloud);

const ownBuckets = (owner: ReturnType<typeof account>) => recordsOf(owner).map(({ id }) => id);

describe("concurrent calls of several replicas", () => {
  test("a restore that overtakes a move to the trash leaves the bucket open", async () => {
    for (const method of ["s3.PutBucketPolicy", "s3.GetBucketLifecycle", "s3.PutBucketLifecycle", "s3.DeleteObject"]) {
      const owner = account();
      const volumes = volumesOver(fake);
      const { volume } = await expectOk(volumes.create(owner, data));
      await put(volumes, volume, "a", "kept");
      await expectOk(volumes.beginDelete(volume));
      fake.meanwhile(method, () => {
        // Simulates another replica that has restored the volume by then, according to the records.
        const [record] = recordsOf(owner);
        writeRecords(owner, [{ ...(record as NonNullable<typeof record>), state: "live" }]);
      });
      expect((await expectError(volumes.moveToTrash(volume, now()))).kind, method).toBe("conflict");
      expect(bucketOf(volume).policy, method).toBeUndefined();
      expect(bucketOf(volume).lifecycle.some(({ date }) => date !== undefined)).toBe(false);
      expect((await expectOk(volumesOver(fake).find(owner, data))).kind).toBe("held");
      const other = await expectOk(volumesOver(fake).find(account(), data));
      expect(other.kind).toBe("other_account");
      await put(volumes, volume, "b", "again");
    }
  });

  test("a write that conflicts with another is retried", async () => {
    const owner = account();
    await expectOk(volumesOver(fake).create(owner, "other" as VolumeName));
    fake.faults.clear();
    fake.meanwhile("s3.PutObject", () => writeRecords(owner, recordsOf(owner)));
    // The document and its ETag are unchanged, so nothing is lost.
    await expectOk(volumesOver(fake).create(owner, data));
    fake.meanwhile("s3.PutObject", () => {
      const [first, ...rest] = recordsOf(owner);
      writeRecords(owner, [{ ...(first as NonNullable<typeof first>), at: "1" }, ...rest]);
    });
    await expectOk(volumesOver(fake).create(owner, "third" as VolumeName));
    expect(recordsOf(owner).map(({ at }) => at === "1")).toEqual([true, false, false]);
    expect(await expectOk(volumesOver(fake).list(owner))).toHaveLength(3);
  });
});

describe("interrupted calls", () => {
  const later = (millis: number) => createManualClock(new Date(Date.now() + millis).toISOString());

  test("the next call for the name completes an interrupted creation; otherwise a listing cleans it up", async () => {
    const owner = account();
    const { volume } = await expectOk(volumesOver(fake).create(owner, data));
    const [record] = recordsOf(owner);
    const unmade = { ...(record as NonNullable<typeof record>), state: "making" };
    writeRecords(owner, [unmade]);
    expect(await expectOk(volumesOver(fake).list(owner))).toEqual([]);
    expect(await expectOk(volumesOver(fake).create(owner, data))).toMatchObject({
      created: true,
      volume: { id: volume.id },
    });
    for (const [millis, isThere] of [
      [60_000, true],
      [180_000, false],
    ] as const) {
      writeRecords(owner, [unmade]);
      const other = volumesOver(fake, { clock: later(millis), files: files.client });
      expect(await expectOk(other.list(owner))).toEqual([]);
      await other.idle();
      expect([fake.world.live.has(volume.id), ownBuckets(owner).length]).toEqual([isThere, isThere ? 1 : 0]);
    }
    const marks = [...fake.world.bucket(STATE_BUCKET).objects.keys()].filter((key) => key.endsWith(volume.id));
    expect(marks).toEqual([]);
  });

  test.each([
    "PutBucketPolicyCommand",
    "GetBucketLifecycleConfigurationCommand",
    "PutBucketLifecycleConfigurationCommand",
    "DeleteObjectCommand",
  ])("a move to the trash that is killed after %s leaves no restored volume closed", async (last) => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    await put(volumes, volume, "a", "kept");
    await expectOk(volumes.beginDelete(volume));
    const dying = dyingAfter(last, async () => void (await expectOk(volumes.restore(owner, volume.id))));
    void volumesOver(dying).moveToTrash(volume, now());
    await dying.died;
    expect((await expectOk(volumes.find(owner, data))).kind).toBe("held");
    const other = volumesOver(fake, { clock: later(180_000), files: files.client });
    expect((await expectOk(other.find(owner, data))).kind).toBe("held");
    await other.idle();
    expect(bucketOf(volume).policy).toBeUndefined();
    expect(bucketOf(volume).lifecycle.some(({ date }) => date !== undefined)).toBe(false);
    expect((await expectOk(other.find(account(), data))).kind).toBe("other_account");
    await put(volumes, volume, "b", "again");
    // A later list does not open the bucket again.
    fake.faults.clear();
    await expectOk(volumesOver(fake, { clock: later(600_000), files: files.client }).list(owner));
    expect(fake.faults.count("s3.DeleteBucketPolicy")).toBe(0);
  });

  test("a bucket stays closed if its volume is deleted again while the bucket is opened", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    await deleteVolume(volumes, volume);
    await expectOk(volumes.restore(owner, volume.id));
    const other = volumesOver(fake, { clock: later(180_000), files: files.client });
    // Another replica deletes the volume while its bucket is opened again.
    fake.meanwhile("s3.DeleteBucketPolicy", () => {
      const [record] = recordsOf(owner);
      const deletedAt = now();
      writeRecords(owner, [{ ...(record as NonNullable<typeof record>), state: "deleted", deletedAt }]);
    });
    await expectOk(other.list(owner));
    await other.idle();
    expect(bucketOf(volume).policy).toBeDefined();
  });

  test("the next listing continues an interrupted purge", async () => {
    const owner = account();
    const { volume } = await expectOk(volumesOver(fake).create(owner, data));
    fake.world.putObject(bucketOf(volume), { name: "a", bytes: Buffer.from("x") });
    const [record] = recordsOf(owner);
    writeRecords(owner, [{ ...(record as NonNullable<typeof record>), state: "purging" }]);
    expect(await expectOk(volumesOver(fake).find(owner, data))).toEqual({ kind: "other_account" });
    expect(await expectOk(volumesOver(fake).trash(owner))).toEqual([]);
    expect((await expectError(volumesOver(fake).restore(owner, volume.id))).kind).toBe("not_found");
    const other = volumesOver(fake, { clock: later(180_000), files: files.client });
    await expectOk(other.sweep());
    expect([fake.world.live.has(volume.id), recordsOf(owner)]).toEqual([false, []]);
  });
});
