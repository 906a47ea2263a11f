/**
 * Purges a volume: its file system, all object versions, its bucket, and last its record, so that later runs find the
 * rest. The work per run is limited; the next run resumes.
 */

import { restorableUntil } from "../../../core/domain/volumes/volume.ts";
import { millisOf } from "../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { ok, okAsync, safeTry } from "../../../core/result.ts";
import type { VolumeDeps } from "./deps.ts";
import type { VolumeRecord } from "./record.ts";
import { type Decision, outcomeOf } from "./records.ts";
import { reopenBucket } from "./restore-volume.ts";
import type { ApiResult } from "./s3-calls.ts";
import { finishTrash } from "./trash-volume.ts";

/** Milliseconds after which an interrupted operation is completed or cleaned up. */
const ABANDONED_MS = 120_000;

/** Pages of 1,000 versions per run. */
const MAX_PAGES = 100;

/** Milliseconds added to the time in the trash, so that a purge does not overtake a last-moment restore. */
const GRACE_MS = 600_000;

/** True if the volume needs work: an operation was interrupted, or its time in the trash has expired. */
export const isDue = ({ clock, records }: VolumeDeps, record: VolumeRecord): boolean => {
  const { state, at, deletedAt, reopen } = record;
  if (state === "live" && reopen === true) return records.ageOf(at) >= ABANDONED_MS;
  if (state === "making" || state === "deleting" || state === "purging") return records.ageOf(at) >= ABANDONED_MS;
  if (state !== "deleted" || deletedAt === undefined) return false;
  return millisOf(clock.now()) > millisOf(restorableUntil(deletedAt)) + GRACE_MS;
};

/** Deletes versions. Returns `more` if some are left. */
const emptyBucket = ({ api }: VolumeDeps, bucket: string, options: CallOptions): ApiResult<"empty" | "more"> =>
  safeTry(async function* () {
    for (let page = 0; page < MAX_PAGES; page++) {
      const found = yield* await api.versions(bucket, options);
      if (found === "not_found" || found.length === 0) return ok("empty" as const);
      yield* await api.deleteVersions(bucket, found, options);
    }
    return ok("more" as const);
  });

/** Leaves the rest to the next run if much work is left. */
const purge = (deps: VolumeDeps, account: string, record: VolumeRecord, options: CallOptions): ApiResult<unknown> =>
  safeTry(async function* () {
    const { api, files, marks, records } = deps;
    const { id } = record;
    yield* await files.remove(id, options);
    yield* await api.deletePolicy(id, options);
    if ((yield* await emptyBucket(deps, id, options)) === "more") return ok(undefined);
    if ((yield* await api.deleteBucket(id, options)) === "changed") return ok(undefined);
    yield* await marks.remove(account, record, options);
    return records.drop(account, id, options);
  });

/**
 * Opens a restored bucket once more. By now, an interrupted move to the trash has ended, or will see that the volume is
 * live. Closes the bucket again if the volume has been deleted again.
 */
const reopenRestored = (
  deps: VolumeDeps,
  account: string,
  record: VolumeRecord,
  options: CallOptions,
): ApiResult<unknown> =>
  safeTry(async function* () {
    yield* await reopenBucket(deps, account, record, options);
    const decide = (found: VolumeRecord | undefined): Decision<VolumeRecord | undefined> => {
      if (found?.state !== "live") return { stop: found };
      const { reopen: _done, ...rest } = found;
      return { put: rest };
    };
    const found = outcomeOf(yield* await deps.records.changeVolume(account, record.id, decide, options));
    const isTrash = found?.state === "deleting" || found?.state === "deleted";
    return isTrash ? finishTrash(deps, account, found, options) : ok(undefined);
  });

/** Resumes due work, unless the volume has been restored or the work has finished. */
export const resumeDueWork = (
  deps: VolumeDeps,
  account: string,
  due: VolumeRecord,
  options: CallOptions,
): ApiResult<unknown> => {
  if (due.state === "deleting") return finishTrash(deps, account, due, options);
  if (due.state === "live") return reopenRestored(deps, account, due, options);
  return deps.records
    .changeVolume(
      account,
      due.id,
      (found) =>
        found !== undefined && isDue(deps, found) ? { put: { ...found, state: "purging" } } : { stop: undefined },
      options,
    )
    .andThen((begun) =>
      "record" in begun ? purge(deps, account, begun.record, options) : okAsync<unknown, Unavailable>(undefined),
    );
};
