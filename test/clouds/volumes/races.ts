/** Races on a cloud's volumes, within one replica or between several, and the objects that a restore brings back. */
import { describe, expect, test } from "vitest";
import { createManualClock } from "../../../adapters/memory/index.ts";
import type { ObjectPath } from "../../../core/domain/volumes/object-path.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import type { Clock } from "../../../core/ports/system.ts";
import type { StoredVolume, VolumeStore } from "../../../core/ports/volume-store.ts";
import { expectError, expectOk } from "../../contracts/support.ts";
import type { Faults } from "../../fakes/faults.ts";
import { whileTicking } from "../../simulation/ticking.ts";
import { account, data, deleteVolume, now, objectPath, put } from "./steps.ts";

/** A cloud's volume store, on one fake for all tests of a file. */
export interface VolumeCloud {
  readonly faults: Faults;
  /** The call that deletes an object. */
  readonly removal: string;
  /** Returns another replica's store. */
  volumes(options?: { readonly clock: Clock }): VolumeStore;
  /** Live objects in the fake. */
  objectsOf(volume: StoredVolume): ReadonlyMap<string, { readonly bytes: Uint8Array }>;
  /** Number of existing buckets. */
  buckets(): number;
}

export const volumeRaceTests = ({ faults, removal, volumes: replica, objectsOf, buckets }: VolumeCloud): void => {
  describe("concurrent calls from several replicas", () => {
    test("create one volume together, and exactly one reports that it created it", async () => {
      const owner = account();
      // By now, the platform has created its own buckets.
      await expectOk(replica().create(account(), data));
      const before = buckets();
      const made = await Promise.all(Array.from({ length: 8 }, () => expectOk(replica().create(owner, data))));
      expect(made.filter(({ created }) => created)).toHaveLength(1);
      expect(new Set(made.map(({ volume }) => volume.id)).size).toBe(1);
      expect(await expectOk(replica().list(owner))).toHaveLength(1);
      expect(buckets()).toBe(before + 1);
    });

    test("create many volumes of one account", async () => {
      const owner = account();
      const names = Array.from({ length: 10 }, (_, index) => `v${index}` as VolumeName);
      await Promise.all(names.map((name) => expectOk(replica().create(owner, name))));
      expect((await expectOk(replica().list(owner))).map(({ name }) => name)).toEqual(names);
    });

    test("hide a volume once", async () => {
      const { volume } = await expectOk(replica().create(account(), data));
      const ends = await Promise.all(Array.from({ length: 5 }, () => replica().beginDelete(volume)));
      expect(ends.filter((end) => end.isOk())).toHaveLength(1);
    });

    test("a restore and a new volume of the name leave one", async () => {
      for (let times = 0; times < 6; times++) {
        const owner = account();
        const volumes = replica();
        const { volume } = await expectOk(volumes.create(owner, data));
        await put(volumes, volume, "a", "kept");
        await deleteVolume(volumes, volume);
        const pause = () => new Promise((resolve) => setTimeout(resolve, times * 3));
        const [back, made] = await Promise.all([
          replica().restore(owner, volume.id),
          pause().then(() => replica().create(owner, data)),
        ]);
        expect(await expectOk(volumes.list(owner))).toHaveLength(1);
        expect(made._unsafeUnwrap().created).toBe(back.isErr());
        if (back.isOk()) expect([...objectsOf(volume).keys()]).toEqual(["a"]);
      }
    });
  });

  test("a removal whose response is lost still succeeds", async () => {
    const volumes = replica();
    const { volume } = await expectOk(volumes.create(account(), data));
    await put(volumes, volume, "a", "x");
    faults.clear();
    faults.inject({ method: removal, nth: 1, kind: "reply_lost" });
    await expectOk(replica().remove(volume, objectPath));
    expect((await expectError(replica().remove(volume, objectPath))).kind).toBe("not_found");
    expect(faults.count(removal)).toBeGreaterThan(1);
  });

  test("any reader shows a volume again that was hidden more than a minute ago", async () => {
    const clock = createManualClock();
    const volumes = replica({ clock });
    const owner = account();
    const look = async () => (await whileTicking(clock, expectOk(volumes.find(owner, data)), 1)).kind;
    const { volume } = await whileTicking(clock, expectOk(volumes.create(owner, data)), 1);
    await whileTicking(clock, expectOk(volumes.beginDelete(volume)), 1);
    await clock.advance(50_000);
    expect(await look()).toBe("hidden");
    await clock.advance(20_000);
    expect(await look()).toBe("held");
    const late = volumes.moveToTrash(volume, now());
    expect((await whileTicking(clock, expectError(late), 1)).kind).toBe("conflict");
  });
};

/** Tests the objects that restoring a deleted volume brings back. */
export const volumeReturnTests = ({ volumes: replica, objectsOf }: VolumeCloud): void => {
  test("does not restore objects that were deleted or replaced before", async () => {
    const owner = account();
    const volumes = replica();
    const { volume } = await expectOk(volumes.create(owner, data));
    for (const [path, text] of [
      ["gone", "x"],
      ["changed", "old"],
      ["changed", "new"],
      ["kept", "kept"],
    ] as const)
      await put(volumes, volume, path, text);
    await expectOk(volumes.remove(volume, "gone" as ObjectPath));
    // Storage with millisecond timestamps cannot order events within one millisecond.
    await new Promise((resolve) => setTimeout(resolve, 5));
    for (let times = 0; times < 2; times++) {
      await deleteVolume(volumes, volume);
      await expectOk(volumes.restore(owner, volume.id));
      const objects = [...objectsOf(volume)].map(([path, { bytes }]) => [path, Buffer.from(bytes).toString()]).sort();
      expect(objects).toEqual([
        ["changed", "new"],
        ["kept", "kept"],
      ]);
    }
  });
};
