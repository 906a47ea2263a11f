/** Deletes or restores all objects of a bucket, with limited concurrency. */
import type { FileMetadata } from "@google-cloud/storage";
import { type Instant, parseInstant } from "../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import type { ApiResult, StorageApi } from "./storage-calls.ts";

/**
 * Concurrent requests. A bucket initially accepts 1,000 writes a second:
 * https://cloud.google.com/storage/docs/request-rate
 */
const CONCURRENCY = 32;

/** Runs `work` on all items. After the first error, starts no more, waits for those that run, and returns the error. */
const inParallel = async <T>(
  all: readonly T[],
  work: (one: T) => Promise<Result<unknown, Unavailable>>,
): ApiResult<undefined> => {
  const waiting = all.values();
  let failure: Unavailable | undefined;
  const worker = async (): Promise<void> => {
    for (const one of waiting) {
      const done = await work(one);
      if (done.isErr()) failure ??= done.error;
      if (failure !== undefined) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, all.length) }, worker));
  return failure === undefined ? ok(undefined) : err(failure);
};

const nameOf = (object: FileMetadata): string => object.name ?? "";
const generationOf = (object: FileMetadata): string => String(object.generation);

/**
 * Deletes every live object, each in the generation that was listed, so that a concurrent upload survives. Returns
 * `stopped` if `mayContinue` returned false, `not_found` if the bucket does not exist.
 *
 * @param mayContinue called before deleting each page
 */
export const emptyBucket = async (
  api: StorageApi,
  bucket: string,
  mayContinue: () => ApiResult<boolean>,
  options: CallOptions,
): ApiResult<"empty" | "stopped" | "not_found"> => {
  for (;;) {
    const page = await api.objects(bucket, { fields: "items(name,generation),nextPageToken" }, options);
    if (page.isErr()) return err(page.error);
    if (page.value === "not_found") return ok("not_found");
    const { items = [] } = page.value;
    if (items.length === 0 && page.value.nextPageToken === undefined) return ok("empty");
    const allowed = await mayContinue();
    if (allowed.isErr()) return err(allowed.error);
    if (!allowed.value) return ok("stopped");
    const done = await inParallel(items, (one) => api.deleteObject(bucket, nameOf(one), generationOf(one), options));
    if (done.isErr()) return err(done.error);
  }
};

/** Returns the newest generation of each name, among the objects deleted since then. */
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
 * Restores every object deleted since then, unless a live object has its name. Restored objects stay unchanged.
 * https://cloud.google.com/storage/docs/json_api/v1/objects/restore
 */
export const restoreObjects = async (
  api: StorageApi,
  bucket: string,
  since: Instant,
  options: CallOptions,
): ApiResult<undefined> => {
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
