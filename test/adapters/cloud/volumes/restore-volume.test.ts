/** A restore starts over if its last step loses a race against another call, a limited number of times. */
import { expect, test } from "vitest";
import type { VolumeDriver } from "../../../../adapters/cloud/volumes/driver.ts";
import type { RecordState, VolumeRecord } from "../../../../adapters/cloud/volumes/record.ts";
import { restoreVolume } from "../../../../adapters/cloud/volumes/restore-volume.ts";
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

/**
 * Restores a volume whose last steps end in these states; the last state repeats. Returns the result and the claims.
 */
const restored = async (...states: readonly [RecordState, ...RecordState[]]) => {
  const left = [...states];
  let claims = 0;
  const driver = {
    claimTrashed: () => {
      claims++;
      return okAsync(recordIn("restoring"));
    },
    open: okAsync,
    records: {
      change: () =>
        okAsync({ changed: false, record: recordIn((left.length > 1 && left.shift()) || (left[0] ?? "live")) }),
    },
  } as unknown as VolumeDriver<VolumeRecord>;
  return { result: await restoreVolume(driver, "bucket"), claims };
};

test("restores the volume again if another call moved it to the trash meanwhile", async () => {
  const { result, claims } = await restored("deleting", "deleted", "live");
  expect(result._unsafeUnwrap().state).toBe("live");
  expect(claims).toBe(3);
});

test("fails with unavailable after ten lost races", async () => {
  const { result, claims } = await restored("deleting");
  expect(result._unsafeUnwrapErr().kind).toBe("unavailable");
  expect(claims).toBe(10);
});
