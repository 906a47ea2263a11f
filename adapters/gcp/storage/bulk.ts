/** All of a bucket's objects at once: deleted, or brought back, so many at a time. */
import type { FileMetadata } from "@google-cloud/storage";
import { type Instant, parseInstant } from "../../../core/domain/instant.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import type { Answer, StorageApi } from "./api.ts";

/** One bucket takes 1,000 writes a second at first: https://cloud.google.com/storage/docs/request-rate */
const AT_ONCE = 32;

/** Does the work on all of them; ends with the first error, when what had begun is over. */
const inParallel = async <T>(
  all: readonly T[],
  work: (one: T) => Promise<Result<unknown, Unavailable>>,
): Answer<undefined> => {
  const waiting = all.values();
  let failure: Unavailable | undefined;
  const worker = async (): Promise<void> => {
    for (const one of waiting) {
      const done = await work(one);
      if (done.isErr()) failure ??= done.error;
      if (failure !== undefined) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, all.length) }, worker));
  return failure === undefined ? ok(undefined) : err(failure);
};

const nameOf = (object: FileMetadata): string => object.name ?? "";
const generationOf = (object: FileMetadata): string => String(object.generation);

/**
 * Deletes every object that lives; each as it was listed, so that one that is put back meanwhile stays.
 *
 * @param goOn asked before each page
 * @returns `stopped` where `goOn` said no; `not_found`: there is no such bucket
 */
export const emptyBucket = async (
  api: StorageApi,
  bucket: string,
  goOn: () => Answer<boolean>,
  options: CallOptions,
): Answer<"empty" | "stopped" | "not_found"> => {
  for (;;) {
    const page = await api.objects(bucket, { fields: "items(name,generation),nextPageToken" }, options);
    if (page.isErr()) return err(page.error);
    if (page.value === "not_found") return ok("not_found");
    const { items = [] } = page.value;
    if (items.length === 0 && page.value.nextPageToken === undefined) return ok("empty");
    const may = await goOn();
    if (may.isErr()) return err(may.error);
    if (!may.value) return ok("stopped");
    const done = await inParallel(items, (one) => api.deleteObject(bucket, nameOf(one), generationOf(one), options));
    if (done.isErr()) return err(done.error);
  }
};

/** The newest of each name among those deleted since. */
const newestOf = (deleted: readonly FileMetadata[], since: Instant): FileMetadata[] => {
  const newest = new Map<string, FileMetadata>();
  for (const one of deleted) {
    if ((parseInstant(one.softDeleteTime ?? "") ?? 0n) < since) continue;
    const known = newest.get(nameOf(one));
    if (known === undefined || BigInt(generationOf(known)) < BigInt(generationOf(one))) newest.set(nameOf(one), one);
  }
  return [...newest.values()];
};

/**
 * Brings back every object that was deleted since then, where none of its name lives; those that are back already stay
 * as they are.
 * https://cloud.google.com/storage/docs/json_api/v1/objects/restore
 */
export const restoreObjects = async (
  api: StorageApi,
  bucket: string,
  since: Instant,
  options: CallOptions,
): Answer<undefined> => {
  const deleted: FileMetadata[] = [];
  for (let pageToken: string | undefined; ; ) {
    const fields = "items(name,generation,softDeleteTime),nextPageToken";
    const page = await api.objects(bucket, { softDeleted: true, pageToken, fields }, options);
    if (page.isErr()) return err(page.error);
    if (page.value === "not_found") return ok(undefined);
    deleted.push(...(page.value.items ?? []));
    pageToken = page.value.nextPageToken;
    if (pageToken === undefined) break;
  }
  return inParallel(newestOf(deleted, since), (one) =>
    api.restoreObject(bucket, nameOf(one), generationOf(one), options),
  );
};
