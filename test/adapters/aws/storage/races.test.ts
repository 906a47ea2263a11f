/** Calls that meet on S3, of one replica or of several, and calls that were cut. */
import { describe, expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import type { VolumeName } from "../../../../core/domain/names.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import { STATE_BUCKET } from "../../../fakes/aws/test-config.ts";
import { whileTicking } from "../../../support/memory-platform.ts";
import { a, account, bucketOf, data, discard, fake, files, now, put, recordsOf, writeRecords } from "./steps.ts";
import { volumesOver } from "./subject.ts";

/** A replica that is killed right after its call of the command, before which another one does something. */
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

const ownBuckets = (owner: ReturnType<typeof account>) => recordsOf(owner).map(({ id }) => id);

describe("calls that race, from several replicas", () => {
  test("make one volume between them, and one has made it", async () => {
    const owner = account();
    const before = fake.world.live.size;
    const made = await Promise.all(Array.from({ length: 8 }, () => expectOk(volumesOver(fake).create(owner, data))));
    expect(made.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(made.map(({ volume }) => volume.id)).size).toBe(1);
    expect(await expectOk(volumesOver(fake).list(owner))).toHaveLength(1);
    expect(fake.world.live.size).toBe(before + 1);
  });

  test("make many volumes of one account at once", async () => {
    const owner = account();
    const names = Array.from({ length: 10 }, (_, index) => `v${index}` as VolumeName);
    await Promise.all(names.map((name) => expectOk(volumesOver(fake).create(owner, name))));
    expect((await expectOk(volumesOver(fake).list(owner))).map(({ name }) => name)).toEqual(names);
  });

  test("hide a volume once", async () => {
    const { volume } = await expectOk(volumesOver(fake).create(account(), data));
    const ends = await Promise.all(Array.from({ length: 5 }, () => volumesOver(fake).hide(volume)));
    expect(ends.filter((end) => end.isOk())).toHaveLength(1);
  });

  test("a restore and a new volume of the name leave one", async () => {
    for (let times = 0; times < 6; times++) {
      const owner = account();
      const volumes = volumesOver(fake);
      const { volume } = await expectOk(volumes.create(owner, data));
      await put(volumes, volume, "a", "kept");
      await discard(volumes, volume);
      const pause = () => new Promise((resolve) => setTimeout(resolve, times * 3));
      const [back, made] = await Promise.all([
        volumesOver(fake).restore(owner, volume.id),
        pause().then(() => volumesOver(fake).create(owner, data)),
      ]);
      expect(await expectOk(volumes.list(owner))).toHaveLength(1);
      expect(made._unsafeUnwrap().created).toBe(back.isErr());
      if (back.isOk()) expect([...bucketOf(volume).objects.keys()]).toEqual(["a"]);
    }
  });

  test("a discard that is overtaken by a restore leaves the volume open", async () => {
    for (const method of ["s3.PutBucketPolicy", "s3.PutBucketLifecycle", "s3.DeleteObject"]) {
      const owner = account();
      const volumes = volumesOver(fake);
      const { volume } = await expectOk(volumes.create(owner, data));
      await put(volumes, volume, "a", "kept");
      await expectOk(volumes.hide(volume));
      fake.meanwhile(method, () => {
        // As another replica has done it by then: the records say so.
        const [record] = recordsOf(owner);
        writeRecords(owner, [{ ...(record as NonNullable<typeof record>), state: "live" }]);
      });
      expect((await expectError(volumes.discard(volume, now()))).kind, method).toBe("conflict");
      expect(bucketOf(volume).policy, method).toBeUndefined();
      expect(bucketOf(volume).lifecycle.some(({ date }) => date !== undefined)).toBe(false);
      expect((await expectOk(volumesOver(fake).find(owner, data))).kind).toBe("held");
      const other = await expectOk(volumesOver(fake).find(account(), data));
      expect(other.kind).toBe("elsewhere");
      await put(volumes, volume, "b", "again");
    }
  });

  test("a write that meets another one is made again", async () => {
    const owner = account();
    await expectOk(volumesOver(fake).create(owner, "other" as VolumeName));
    fake.faults.clear();
    fake.meanwhile("s3.PutObject", () => writeRecords(owner, recordsOf(owner)));
    // The document is the same, and so is its ETag: nothing is lost.
    await expectOk(volumesOver(fake).create(owner, data));
    fake.meanwhile("s3.PutObject", () => {
      const [first, ...rest] = recordsOf(owner);
      writeRecords(owner, [{ ...(first as NonNullable<typeof first>), at: "1" }, ...rest]);
    });
    await expectOk(volumesOver(fake).create(owner, "third" as VolumeName));
    expect(recordsOf(owner).map(({ at }) => at === "1")).toEqual([true, false, false]);
    expect(await expectOk(volumesOver(fake).list(owner))).toHaveLength(3);
  });

  test("a removal whose answer was lost has happened", async () => {
    const { volume } = await expectOk(volumesOver(fake).create(account(), data));
    fake.world.putObject(bucketOf(volume), { name: "a", bytes: Buffer.from("x") });
    fake.faults.inject({ method: "s3.DeleteObject", nth: 1, kind: "reply_lost" });
    await expectOk(volumesOver(fake).remove(volume, a));
    expect((await expectError(volumesOver(fake).remove(volume, a))).kind).toBe("not_found");
  });
});

describe("what was cut", () => {
  const later = (millis: number) => createManualClock(new Date(Date.now() + millis).toISOString());

  test("while it was made is made by the next call of the name, and else cleared away by whoever lists", async () => {
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

  test.each(["PutBucketPolicyCommand", "PutBucketLifecycleConfigurationCommand", "DeleteObjectCommand"])(
    "in a discard, which a restore has overtaken, leaves no live volume closed: killed after %s",
    async (last) => {
      const owner = account();
      const volumes = volumesOver(fake);
      const { volume } = await expectOk(volumes.create(owner, data));
      await put(volumes, volume, "a", "kept");
      await expectOk(volumes.hide(volume));
      const dying = dyingAfter(last, async () => void (await expectOk(volumes.restore(owner, volume.id))));
      void volumesOver(dying).discard(volume, now());
      await dying.died;
      expect((await expectOk(volumes.find(owner, data))).kind).toBe("held");
      const other = volumesOver(fake, { clock: later(180_000), files: files.client });
      expect((await expectOk(other.find(owner, data))).kind).toBe("held");
      await other.idle();
      expect(bucketOf(volume).policy).toBeUndefined();
      expect(bucketOf(volume).lifecycle.some(({ date }) => date !== undefined)).toBe(false);
      expect((await expectOk(other.find(account(), data))).kind).toBe("elsewhere");
      await put(volumes, volume, "b", "again");
      // Once is enough.
      fake.faults.clear();
      await expectOk(volumesOver(fake, { clock: later(600_000), files: files.client }).list(owner));
      expect(fake.faults.count("s3.DeleteBucketPolicy")).toBe(0);
    },
  );

  test("in a restore's last step, and deleted meanwhile, is closed", async () => {
    const owner = account();
    const volumes = volumesOver(fake);
    const { volume } = await expectOk(volumes.create(owner, data));
    await discard(volumes, volume);
    await expectOk(volumes.restore(owner, volume.id));
    const other = volumesOver(fake, { clock: later(180_000), files: files.client });
    // Another replica has deleted it when it is opened once more.
    fake.meanwhile("s3.DeleteBucketPolicy", () => {
      const [record] = recordsOf(owner);
      const deletedAt = now();
      writeRecords(owner, [{ ...(record as NonNullable<typeof record>), state: "deleted", ...{ deletedAt } }]);
    });
    await expectOk(other.list(owner));
    await other.idle();
    expect(bucketOf(volume).policy).toBeDefined();
  });

  test("in a purge goes on at the next look", async () => {
    const owner = account();
    const { volume } = await expectOk(volumesOver(fake).create(owner, data));
    fake.world.putObject(bucketOf(volume), { name: "a", bytes: Buffer.from("x") });
    const [record] = recordsOf(owner);
    writeRecords(owner, [{ ...(record as NonNullable<typeof record>), state: "purging" }]);
    expect(await expectOk(volumesOver(fake).find(owner, data))).toEqual({ kind: "elsewhere" });
    expect(await expectOk(volumesOver(fake).trash(owner))).toEqual([]);
    expect((await expectError(volumesOver(fake).restore(owner, volume.id))).kind).toBe("not_found");
    const other = volumesOver(fake, { clock: later(180_000), files: files.client });
    await expectOk(other.sweep());
    expect([fake.world.live.has(volume.id), recordsOf(owner)]).toEqual([false, []]);
  });
});

describe("hiding", () => {
  test("is forgotten after a minute, by whoever looks", async () => {
    const clock = createManualClock();
    const volumes = volumesOver(fake, { clock });
    const owner = account();
    const look = async () => (await whileTicking(clock, expectOk(volumes.find(owner, data)), 1)).kind;
    const { volume } = await whileTicking(clock, expectOk(volumes.create(owner, data)), 1);
    await whileTicking(clock, expectOk(volumes.hide(volume)), 1);
    await clock.advance(50_000);
    expect(await look()).toBe("hidden");
    await clock.advance(20_000);
    expect(await look()).toBe("held");
    const late = volumes.discard(volume, now());
    expect((await whileTicking(clock, expectError(late), 1)).kind).toBe("conflict");
  });
});
