/**
 * Restores a volume from the trash: claims its name, opens its bucket, and makes the volume live. An interrupted
 * restore leaves the volume in the trash, and the next restore continues it.
 */
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import {
  type Conflict,
  conflict,
  type NotFound,
  notFound,
  type Unavailable,
  unavailable,
} from "../../../core/errors.ts";
import { err, ok, okAsync, type ResultAsync, safeTry } from "../../../core/result.ts";
import type { ApiResult } from "../calls/expect-states.ts";
import type { VolumeDriver } from "./driver.ts";
import { isInTrash, type VolumeRecord } from "./record.ts";

const TRIES = 10;

export const notInTrash = (): NotFound => notFound("The trash does not contain this volume.");

export const isBeingCreated = (name: VolumeName): Conflict =>
  conflict(`A volume '${name}' is being created. Try again in a moment.`);

/** Opens the bucket of a volume, and makes the volume live. Returns undefined if the bucket is lost. */
export const finishRestore = <R extends VolumeRecord>(driver: VolumeDriver<R>, record: R): ApiResult<R | undefined> =>
  driver
    .open(record)
    .andThen((opened) =>
      opened?.state === "restoring"
        ? driver.records.change(opened.id, "live", ({ state }) => state === "restoring").map((end) => end.record)
        : okAsync(opened),
    );

export const restoreVolume = <R extends VolumeRecord>(
  driver: VolumeDriver<R>,
  id: string,
): ResultAsync<R, NotFound | Conflict | Unavailable> =>
  safeTry(async function* () {
    for (let tries = 0; tries < TRIES; tries++) {
      const claimed = yield* driver.claimTrashed(id);
      if (claimed === "again") continue;
      const restored = yield* finishRestore(driver, claimed);
      // Another call may have moved the volume to the trash in the meantime.
      if (restored !== undefined && !isInTrash(restored)) return ok(restored);
    }
    return err(unavailable("Too many concurrent calls for the volume. Try again."));
  });
