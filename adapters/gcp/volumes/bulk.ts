/** Deletes or restores all objects of a bucket, with limited concurrency. */
import type { FileMetadata } from "@google-cloud/storage";
import { type Instant, parseInstant } from "../../../core/domain/wire/instant.ts";
import { ok, safeTry } from "../../../core/result.ts";
import type { ApiResult } from "../../cloud/calls/expect-states.ts";
import { inParallel } from "../../cloud/calls/in-parallel.ts";
import type { StorageApi } from "./storage-calls.ts";

/**
 * Maximum number of concurrent requests. A bucket initially accepts 1,000 writes a second:
 * https://cloud.google.com/storage/docs/request-rate
 */
const CONCURRENCY = 32;

const nameOf = (object: FileMetadata): string => object.name ?? "";
const generationOf = (object: FileMetadata): string => String(object.generation);

/**
 * Deletes live objects until a listing is empty. Each request names the listed generation, so it does not delete the
 * result of a concurrent upload. Returns `stopped` if `mayContinue` returned false, and `not_found` if the bucket does
 * not exist.
 *
 * @param mayContinue called before deleting each page
 */
export const emptyBucket = (
  api: StorageApi,
  bucket: string,
  mayContinue: () => ApiResult<boolean>,
): ApiResult<"empty" | "stopped" | "not_found"> =>
  safeTry(async function* () {
    for (;;) {
      const page = yield* api.objects(bucket, { fields: "items(name,generation),nextPageToken" });
      if (page === "not_found") return ok("not_found" as const);
      const { items = [], nextPageToken } = page;
      if (items.length === 0 && nextPageToken === undefined) return ok("empty" as const);
      if (!(yield* mayContinue())) return ok("stopped" as const);
      yield* inParallel(items, CONCURRENCY, (one) => api.deleteObject(bucket, nameOf(one), generationOf(one)));
    }
  });

/** Returns the newest generation of each name among the objects deleted since the time `since`. */
const newestOf = (deleted: readonly FileMetadata[], since: Instant): FileMetadata[] => {
  const lost = deleted.filter(({ softDeleteTime = "" }) => (parseInstant(softDeleteTime) ?? 0n) >= since);
  const isNewer = (one: FileMetadata, other: FileMetadata) => BigInt(generationOf(one)) > BigInt(generationOf(other));
  return [...Map.groupBy(lost, nameOf).values()].map((all) =>
    all.reduce((best, one) => (isNewer(one, best) ? one : best)),
  );
};

/**
 * Restores every object deleted since the time `since`, unless a live object has its name. A repeated call does not
 * change the objects that are already restored.
 * https://cloud.google.com/storage/docs/json_api/v1/objects/restore
 */
export const restoreObjects = (api: StorageApi, bucket: string, since: Instant): ApiResult<void> =>
  safeTry(async function* () {
    const deleted: FileMetadata[] = [];
    for (let pageToken: string | undefined; ; ) {
      const fields = "items(name,generation,softDeleteTime),nextPageToken";
      const page = yield* api.objects(bucket, { softDeleted: true, pageToken, fields });
      if (page === "not_found") return ok(undefined);
      deleted.push(...(page.items ?? []));
      pageToken = page.nextPageToken;
      if (pageToken === undefined) break;
    }
    return inParallel(newestOf(deleted, since), CONCURRENCY, (one) =>
      api.restoreObject(bucket, nameOf(one), generationOf(one)),
    ).map(() => undefined);
  });
