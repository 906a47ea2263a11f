/**
 * Purges a volume: its file system, all object versions, its bucket, and last its record, so that later runs find the
 * rest. The work per run is limited; the next run resumes.
 */

import { restorableUntil } from "../../../core/domain/volumes/volume.ts";
import { millisOf } from "../../../core/domain/wire/instant.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok } from "../../../core/result.ts";
import type { VolumeDeps } from "./deps.ts";
import type { VolumeRecord } from "./record.ts";
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
const emptyBucket = async (
  { api }: VolumeDeps,
  bucket: string,
  options: CallOptions,
): ApiResult<"empty" | "more" | "not_found"> => {
  for (let page = 0; page < MAX_PAGES; page++) {
    const found = await api.versions(bucket, options);
    if (found.isErr()) return err(found.error);
    if (found.value === "not_found") return ok("not_found");
    if (found.value.length === 0) return ok("empty");
    const deleted = await api.deleteVersions(bucket, found.value, options);
    if (deleted.isErr()) return err(deleted.error);
  }
  return ok("more");
};

/** Returns false if work is left. */
const purge = async (
  deps: VolumeDeps,
  account: string,
  record: VolumeRecord,
  options: CallOptions,
): ApiResult<boolean> => {
  const { api, files, marks, records } = deps;
  const { id } = record;
  const unmounted = await files.remove(id, options);
  if (unmounted.isErr()) return err(unmounted.error);
  if (!unmounted.value) return ok(false);
  const opened = await api.deletePolicy(id, options);
  if (opened.isErr()) return err(opened.error);
  const left = await emptyBucket(deps, id, options);
  if (left.isErr()) return err(left.error);
  if (left.value === "more") return ok(false);
  const deleted = await api.deleteBucket(id, options);
  if (deleted.isErr()) return err(deleted.error);
  if (deleted.value === "changed") return ok(false);
  const unmarked = await marks.remove(account, record, options);
  if (unmarked.isErr()) return err(unmarked.error);
  return (await records.drop(account, id, options)).map(() => true);
};

/**
 * Opens a restored bucket once more. By now, an interrupted move to the trash has ended, or will see that the volume is
 * live. Closes the bucket again if the volume has been deleted again.
 */
const reopenRestored = async (
  deps: VolumeDeps,
  account: string,
  record: VolumeRecord,
  options: CallOptions,
): ApiResult<unknown> => {
  const opened = await reopenBucket(deps, account, record, options);
  if (opened.isErr()) return err(opened.error);
  const ended = await deps.records.change(
    account,
    (all) => {
      const found = all.find((one) => one.id === record.id);
      if (found?.state !== "live") return { stop: found };
      const { reopen: _done, ...rest } = found;
      return { put: rest };
    },
    options,
  );
  if (ended.isErr() || "record" in ended.value) return ended;
  const { stop: found } = ended.value;
  const isTrash = found?.state === "deleting" || found?.state === "deleted";
  return isTrash ? finishTrash(deps, account, found, options) : ok(undefined);
};

/** Resumes due work, unless the volume has been restored or the work has finished. */
export const resumeDueWork = async (
  deps: VolumeDeps,
  account: string,
  due: VolumeRecord,
  options: CallOptions,
): ApiResult<unknown> => {
  if (due.state === "deleting") return finishTrash(deps, account, due, options);
  if (due.state === "live") return reopenRestored(deps, account, due, options);
  const begun = await deps.records.change(
    account,
    (all) => {
      const found = all.find((one) => one.id === due.id);
      return found !== undefined && isDue(deps, found) ? { put: { ...found, state: "purging" } } : { stop: undefined };
    },
    options,
  );
  if (begun.isErr()) return err(begun.error);
  return "record" in begun.value ? purge(deps, account, begun.value.record, options) : ok(undefined);
};
