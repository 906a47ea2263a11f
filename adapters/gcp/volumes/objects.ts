/** Lists, stats, reads and removes a volume's objects. */
import type { FileMetadata } from "@google-cloud/storage";
import { type ObjectPath, parseObjectPath } from "../../../core/domain/volumes/object-path.ts";
import { instantOfMillis, parseInstant, timestampOf } from "../../../core/domain/wire/instant.ts";
import { type NotFound, notFound, type Unavailable } from "../../../core/errors.ts";
import type { ObjectEntry, ObjectListing, ObjectQuery, StoredVolume } from "../../../core/ports/volume-store.ts";
import { err, ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import type { StorageApi } from "./storage-calls.ts";

type Found<T> = ResultAsync<T, NotFound | Unavailable>;

/** Maximum page size: https://cloud.google.com/storage/docs/json_api/v1/objects/list */
const PAGE_MAX = 1000;

const noObject = ({ name }: StoredVolume, path: string): NotFound => notFound(`'${name}' has no object '${path}'.`);

const entryOf = (path: ObjectPath, { size, updated }: FileMetadata): ObjectEntry => ({
  path,
  size: Number(size ?? 0),
  updated: timestampOf(parseInstant(updated ?? "") ?? instantOfMillis(0)),
});

/** Skips objects that no path can name, such as `a/`, with which a mount represents an empty folder. */
const entriesOf = (items: readonly FileMetadata[]): ObjectEntry[] =>
  items.flatMap((item) => {
    const path = parseObjectPath(item.name ?? "");
    return path === undefined ? [] : [entryOf(path, item)];
  });

/** Lists a page in the storage's order: by the UTF-8 bytes of the names. */
export const listObjects = (
  api: StorageApi,
  volume: StoredVolume,
  { prefix, after, limit }: ObjectQuery,
): Found<ObjectListing> =>
  safeTry(async function* () {
    const objects: ObjectEntry[] = [];
    for (let pageToken: string | undefined; ; ) {
      // One more than the limit shows whether more exist; `after` itself may come first.
      const maxResults = Math.min(PAGE_MAX, limit - objects.length + (after === undefined ? 1 : 2));
      const fields = "items(name,size,updated),nextPageToken";
      const page = yield* api.objects(volume.id, { prefix, startOffset: after, pageToken, maxResults, fields });
      if (page === "not_found") return err(notFound(`The volume '${volume.name}' does not exist.`));
      objects.push(...entriesOf(page.items ?? []).filter(({ path }) => path !== after));
      if (objects.length > limit) return ok({ objects: objects.slice(0, limit), more: true });
      pageToken = page.nextPageToken;
      if (pageToken === undefined) return ok({ objects, more: false });
    }
  });

const findObject = (api: StorageApi, volume: StoredVolume, path: ObjectPath): Found<FileMetadata> =>
  api.object(volume.id, path).andThen((found) => (found === "not_found" ? err(noObject(volume, path)) : ok(found)));

export const statObject = (api: StorageApi, volume: StoredVolume, path: ObjectPath): Found<ObjectEntry> =>
  findObject(api, volume, path).map((found) => entryOf(path, found));

/** Returns the stored bytes of the object's current generation, without decompression. */
export const readObject = (api: StorageApi, volume: StoredVolume, path: ObjectPath): Found<AsyncIterable<Uint8Array>> =>
  findObject(api, volume, path).map(async ({ generation }) => {
    const file = (await api.storage()).bucket(volume.id).file(path, { generation: String(generation) });
    return file.createReadStream({ decompress: false });
  });

export const removeObject = (api: StorageApi, volume: StoredVolume, path: ObjectPath): Found<void> =>
  api
    .deleteObject(volume.id, path, undefined)
    .andThen((deleted) => (deleted === "not_found" ? err(noObject(volume, path)) : ok(undefined)));
