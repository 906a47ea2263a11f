/**
 * Purges a volume: deletes its file system, all object versions and its bucket. Deletes the record last, so the next
 * run finds an unfinished purge. A run deletes a limited number of objects.
 */

import { restorableUntil } from "../../../core/domain/volumes/volume.ts";
import { millisOf } from "../../../core/domain/wire/instant.ts";
import { ok, okAsync, safeTry } from "../../../core/result.ts";
import type { ApiResult } from "../../cloud/calls/expect-states.ts";
import { CORS_VERSION, hasCors, withCors } from "./bucket-settings.ts";
import { closeBucket } from "./close-bucket.ts";
import type { AwsVolume } from "./record.ts";
import { byId } from "./records.ts";
import { reopenBucket } from "./restore-volume.ts";
import type { VolumeCall } from "./volume-call.ts";

/** Milliseconds after which an interrupted operation is completed or cleaned up. */
const ABANDONED_MS = 120_000;

/** Pages of 1,000 versions per run. */
const MAX_PAGES = 100;

/** Milliseconds added to the time in the trash, so that a purge does not interfere with a last-moment restore. */
const GRACE_MS = 600_000;

const mustReopen = ({ records }: VolumeCall, { reopen, at }: AwsVolume): boolean =>
  reopen === true && records.ageOf(at) >= ABANDONED_MS;

/**
 * True if an operation on the volume was interrupted, its bucket has no current CORS rules, or its time in the trash
 * has expired.
 */
export const isDue = (call: VolumeCall, record: AwsVolume): boolean => {
  const { clock, records } = call;
  const { state, at, deletedAt, cors } = record;
  if (state === "live") return mustReopen(call, record) || cors !== CORS_VERSION;
  if (state === "making" || state === "deleting" || state === "purging") return records.ageOf(at) >= ABANDONED_MS;
  if (state !== "deleted" || deletedAt === undefined) return false;
  return millisOf(clock.now()) > millisOf(restorableUntil(deletedAt)) + GRACE_MS;
};

/** Deletes object versions. Returns `more` if some may remain. */
const emptyBucket = ({ api }: VolumeCall, bucket: string): ApiResult<"empty" | "more"> =>
  safeTry(async function* () {
    for (let page = 0; page < MAX_PAGES; page++) {
      const found = yield* await api.versions(bucket);
      if (found === "not_found" || found.length === 0) return ok("empty" as const);
      yield* await api.deleteVersions(bucket, found);
    }
    return ok("more" as const);
  });

/** Returns early if the bucket still contains objects. The next run continues the deletion. */
const purge = (call: VolumeCall, record: AwsVolume): ApiResult<unknown> =>
  safeTry(async function* () {
    const { api, files, marks, options, records } = call;
    const { id } = record;
    yield* await files.remove(id, options);
    yield* await api.deletePolicy(id);
    if ((yield* await emptyBucket(call, id)) === "more") return ok(undefined);
    if ((yield* await api.deleteBucket(id)) === "changed") return ok(undefined);
    yield* await marks.remove(record);
    return records.drop(id);
  });

/**
 * Opens the bucket of a restored volume once more. By now, an interrupted move to the trash has ended, or will find the
 * volume live. Closes the bucket again if the volume has been deleted in the meantime.
 */
const reopenRestored = (call: VolumeCall, record: AwsVolume): ApiResult<unknown> =>
  safeTry(async function* () {
    yield* await reopenBucket(call, record);
    const end = yield* await call.records.update((all) => {
      const found = byId(all, record.id);
      if (found?.state !== "live") return { stop: found };
      const { reopen: _done, ...rest } = found;
      return { put: rest };
    });
    const stopped = "stop" in end ? end.stop : undefined;
    return stopped?.state === "deleting" || stopped?.state === "deleted" ? closeBucket(call, stopped) : ok(undefined);
  });

/**
 * Adds Portside's CORS rule to a bucket if its rules are insufficient, and keeps the rules of operators. The rules do
 * not matter in the trash. S3 cannot write CORS rules conditionally, so a concurrent change by an operator may be lost.
 */
const updateCors = ({ api, records }: VolumeCall, { id }: AwsVolume): ApiResult<unknown> =>
  safeTry(async function* () {
    const rules = yield* await api.cors(id);
    if (rules !== "not_found" && !hasCors(rules)) yield* await api.putCors(id, withCors(rules));
    return records.update((all) => {
      const found = byId(all, id);
      return found === undefined ? { stop: undefined } : { put: { ...found, cors: CORS_VERSION } };
    });
  });

/** Resumes due work, unless the volume has been restored or the work has finished. */
export const resumeDueWork = (call: VolumeCall, due: AwsVolume): ApiResult<unknown> => {
  if (due.state === "deleting") return closeBucket(call, due);
  if (due.state === "live") return mustReopen(call, due) ? reopenRestored(call, due) : updateCors(call, due);
  return call.records
    .change(due.id, "purging", (found) => isDue(call, found))
    .andThen(({ changed, record }): ApiResult<unknown> => (changed ? purge(call, record) : okAsync(undefined)));
};
