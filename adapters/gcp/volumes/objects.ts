/** Lists, stats, reads and removes a volume's objects. */
import type { FileMetadata } from "@google-cloud/storage";
import { type ObjectPath, parseObjectPath } from "../../../core/domain/volumes/object-path.ts";
import { instantOfMillis, parseInstant, timestampOf } from "../../../core/domain/wire/instant.ts";
import { type NotFound, notFound, type Unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import type { ObjectEntry, ObjectListing, ObjectQuery, StoredVolume } from "../../../core/ports/volume-store.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import type { StorageApi } from "./storage-calls.ts";

type Found<T> = Promise<Result<T, NotFound | Unavailable>>;

/** Maximum page size: https://cloud.google.com/storage/docs/json_api/v1/objects/list */
const PAGE_MAX = 1000;

const noVolume = ({ name }: StoredVolume): NotFound => notFound(`The volume '${name}' does not exist.`);
const noObject = ({ name }: StoredVolume, path: string): NotFound => notFound(`'${name}' has no object '${path}'.`);

const entryOf = (path: ObjectPath, { size, updated }: FileMetadata): ObjectEntry => ({
  path,
  size: Number(size ?? 0),
  updated: timestampOf(parseInstant(updated ?? "") ?? instantOfMillis(0)),
});

/**
 * Lists a page in the storage's order: by the UTF-8 bytes of the names. Skips objects that no path can name, such as
 * `a/`, with which a mount represents an empty folder.
 */
export const listObjects = async (
  api: StorageApi,
  volume: StoredVolume,
  { prefix, after, limit }: ObjectQuery,
  options: CallOptions,
): Found<ObjectListing> => {
  const objects: ObjectEntry[] = [];
  for (let pageToken: string | undefined; ; ) {
    // One more than the limit shows whether more exist; `after` itself may come first.
    const maxResults = Math.min(PAGE_MAX, limit - objects.length + (after === undefined ? 1 : 2));
    const fields = "items(name,size,updated),nextPageToken";
    const page = await api.objects(volume.id, { prefix, startOffset: after, pageToken, maxResults, fields }, options);
    if (page.isErr()) return err(page.error);
    if (page.value === "not_found") return err(noVolume(volume));
    for (const item of page.value.items ?? []) {
      const path = parseObjectPath(item.name ?? "");
      if (path === undefined || path === after) continue;
      if (objects.length === limit) return ok({ objects, more: true });
      objects.push(entryOf(path, item));
    }
    pageToken = page.value.nextPageToken;
    if (pageToken === undefined) return ok({ objects, more: false });
  }
};

export const statObject = async (
  api: StorageApi,
  volume: StoredVolume,
  path: ObjectPath,
  options: CallOptions,
): Found<ObjectEntry> => {
  const found = await api.object(volume.id, path, options);
  if (found.isErr()) return err(found.error);
  return found.value === "not_found" ? err(noObject(volume, path)) : ok(entryOf(path, found.value));
};

/** Returns the stored bytes of the object's current generation, without decompression. */
export const readObject = async (
  api: StorageApi,
  volume: StoredVolume,
  path: ObjectPath,
  options: CallOptions,
): Found<AsyncIterable<Uint8Array>> => {
  const found = await api.object(volume.id, path, options);
  if (found.isErr()) return err(found.error);
  if (found.value === "not_found") return err(noObject(volume, path));
  const generation = String(found.value.generation);
  const file = (await api.storage()).bucket(volume.id).file(path, { generation });
  return ok(file.createReadStream({ decompress: false }));
};

export const removeObject = async (
  api: StorageApi,
  volume: StoredVolume,
  path: ObjectPath,
  options: CallOptions,
): Found<void> => {
  const deleted = await api.deleteObject(volume.id, path, undefined, options);
  if (deleted.isErr()) return err(deleted.error);
  return deleted.value === "not_found" ? err(noObject(volume, path)) : ok(undefined);
};
