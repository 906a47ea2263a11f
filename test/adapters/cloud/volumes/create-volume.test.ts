/** The creation of a volume completes an interrupted restore of the name, and restores nothing from the trash. */
import { expect, test } from "vitest";
import { createVolume } from "../../../../adapters/cloud/volumes/create-volume.ts";
import type { VolumeDriver } from "../../../../adapters/cloud/volumes/driver.ts";
import type { RecordState, VolumeRecord } from "../../../../adapters/cloud/volumes/record.ts";
import { instantOfMillis, timestampOf } from "../../../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../../../core/domain/wire/names.ts";
import { okAsync } from "../../../../core/result.ts";

const at = instantOfMillis(0);

const recordIn = (state: RecordState): VolumeRecord => ({
  id: "bucket",
  name: "data" as VolumeName,
  state,
  call: "call",
  at,
  createdAt: timestampOf(at),
});

/** Returns the ids of the buckets that a creation opens if it finds these states of the name, one after another. */
const openedBy = async (...states: readonly RecordState[]): Promise<readonly string[]> => {
  const left = [...states];
  const opened: string[] = [];
  const driver: Pick<VolumeDriver<VolumeRecord>, "create" | "open"> = {
    create: () => okAsync({ record: recordIn(left.shift() ?? "live"), created: false }),
    open: (record) => {
      opened.push(record.id);
      return okAsync(undefined);
    },
  };
  const made = await createVolume(driver as VolumeDriver<VolumeRecord>, "data" as VolumeName, undefined);
  expect(made._unsafeUnwrap().record.state).toBe("live");
  return opened;
};

test("completes an interrupted restore", async () => expect(await openedBy("restoring", "live")).toEqual(["bucket"]));

test("restores no volume that moved to the trash meanwhile", async () =>
  expect(await openedBy("deleting", "live")).toEqual([]));

test("makes no call if the signal has already aborted", async () => {
  const driver = { create: () => expect.fail("made a call") } as unknown as VolumeDriver<VolumeRecord>;
  const made = await createVolume(driver, "data" as VolumeName, AbortSignal.abort());
  expect(made._unsafeUnwrapErr().kind).toBe("unavailable");
});
