/**
 * Creates a volume. Of several concurrent calls, only the one that makes the volume live returns `created: true`. The
 * next call for the name completes an interrupted creation or restore.
 */
import { isBeingDeleted } from "../../../core/domain/volumes/conflicts.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import { type Conflict, type Unavailable, unavailable } from "../../../core/errors.ts";
import { err, ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import type { Creation, VolumeDriver } from "./driver.ts";
import type { VolumeRecord } from "./record.ts";
import { finishRestore } from "./restore-volume.ts";

const TRIES = 10;

export const createVolume = <R extends VolumeRecord>(
  driver: VolumeDriver<R>,
  name: VolumeName,
  signal: AbortSignal | undefined,
): ResultAsync<Exclude<Creation<R>, "again">, Conflict | Unavailable> =>
  safeTry(async function* () {
    for (let tries = 0; tries < TRIES && signal?.aborted !== true; tries++) {
      const made = yield* driver.create(name);
      if (made === "again") continue;
      if (made.record.state === "live") return ok(made);
      if (made.record.state === "hidden") return err(isBeingDeleted(name));
      if (made.record.state === "restoring") yield* finishRestore(driver, made.record);
    }
    return err(unavailable(`Too many concurrent calls for the volume '${name}'. Try again.`));
  });
