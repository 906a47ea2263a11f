/**
 * The end of a volume: its file system, every version of its objects, its bucket, and then its record, which is the last
 * to go, so that whoever looks finds what is left. A run does so much at most; the next one goes on.
 */
import { millisOf } from "../../../core/domain/instant.ts";
import { restorableUntil } from "../../../core/domain/volume.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok } from "../../../core/result.ts";
import type { Answer } from "./api.ts";
import { finishDiscard } from "./discarding.ts";
import type { Parts } from "./parts.ts";
import type { VolumeRecord } from "./record.ts";
import { openAgain } from "./restoring.ts";

/** What is cut on its way is finished or cleared away after this. */
const CUT_MS = 120_000;

/** Pages of 1,000 versions in one run. */
const PAGES = 100;

/** A restore that began in the last moment is not overtaken. */
const MERCY_MS = 600_000;

/** Whether somebody has to go on with it: what was cut, and what was in the trash for its time. */
export const isDue = ({ clock, records }: Parts, record: VolumeRecord): boolean => {
  const { state, at, deletedAt, reopen } = record;
  if (state === "live" && reopen === true) return records.ageOf(at) >= CUT_MS;
  if (state === "making" || state === "deleting" || state === "purging") return records.ageOf(at) >= CUT_MS;
  if (state !== "deleted" || deletedAt === undefined) return false;
  return millisOf(clock.now()) > millisOf(restorableUntil(deletedAt)) + MERCY_MS;
};

/** `more`: there are versions left. */
const emptied = async ({ api }: Parts, bucket: string, options: CallOptions): Answer<"empty" | "more" | "gone"> => {
  for (let page = 0; page < PAGES; page++) {
    const found = await api.versions(bucket, options);
    if (found.isErr()) return err(found.error);
    if (found.value === "not_found") return ok("gone");
    if (found.value.length === 0) return ok("empty");
    const deleted = await api.deleteVersions(bucket, found.value, options);
    if (deleted.isErr()) return err(deleted.error);
  }
  return ok("more");
};

/** False: there is more to do. */
const clear = async (parts: Parts, account: string, record: VolumeRecord, options: CallOptions): Answer<boolean> => {
  const { api, files, marks, records } = parts;
  const { id } = record;
  const unmounted = await files.remove(id, options);
  if (unmounted.isErr()) return err(unmounted.error);
  if (!unmounted.value) return ok(false);
  const opened = await api.deletePolicy(id, options);
  if (opened.isErr()) return err(opened.error);
  const left = await emptied(parts, id, options);
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
 * Opens what was brought back once more: whoever was closing it has ended by now, or will see that it lives. What was
 * deleted anew meanwhile is closed anew.
 */
const reopened = async (parts: Parts, account: string, record: VolumeRecord, options: CallOptions): Answer<unknown> => {
  const opened = await openAgain(parts, account, record, options);
  if (opened.isErr()) return err(opened.error);
  const ended = await parts.records.change(
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
  return isTrash ? finishDiscard(parts, account, found, options) : ok(undefined);
};

/** Goes on with what is due, unless somebody has brought it back or finished it meanwhile. */
export const goOn = async (parts: Parts, account: string, due: VolumeRecord, options: CallOptions): Answer<unknown> => {
  if (due.state === "deleting") return finishDiscard(parts, account, due, options);
  if (due.state === "live") return reopened(parts, account, due, options);
  const begun = await parts.records.change(
    account,
    (all) => {
      const found = all.find((one) => one.id === due.id);
      return found !== undefined && isDue(parts, found) ? { put: { ...found, state: "purging" } } : { stop: undefined };
    },
    options,
  );
  if (begun.isErr()) return err(begun.error);
  return "record" in begun.value ? clear(parts, account, begun.value.record, options) : ok(undefined);
};
