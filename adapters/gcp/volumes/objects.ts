/** Lists, stats, reads and removes a bucket's objects. */
import type { FileMetadata } from "@google-cloud/storage";
import type { ObjectPath } from "../../../core/domain/volumes/object-path.ts";
import { instantOfMillis, parseInstant } from "../../../core/domain/wire/instant.ts";
import type { StoredVolume } from "../../../core/ports/volume-store.ts";
import type { BucketObject, ObjectDriver } from "../../cloud/volumes/driver.ts";
import type { StorageApi } from "./storage-calls.ts";

const objectOf = ({ name: key = "", size, updated }: FileMetadata): BucketObject => ({
  key,
  size: Number(size ?? 0),
  updated: parseInstant(updated ?? "") ?? instantOfMillis(0),
});

const orNoObject = <T>(found: T | "not_found"): T | "no_object" => (found === "not_found" ? "no_object" : found);

/** Maximum page size: https://cloud.google.com/storage/docs/json_api/v1/objects/list */
const MAX_RESULTS = 1000;

export const bucketObjects = (api: StorageApi): ObjectDriver => {
  const find = ({ id }: StoredVolume, path: ObjectPath) => api.object(id, path).map(orNoObject);
  return {
    page: ({ id }, { prefix, after, delimiter, limit, token: pageToken }) => {
      // The page starts with `after` itself if this object or folder still exists.
      const maxResults = Math.min(MAX_RESULTS, after === undefined ? limit : limit + 1);
      const fields = "items(name,size,updated),prefixes,nextPageToken";
      return api.objects(id, { prefix, delimiter, startOffset: after, pageToken, maxResults, fields }).map((page) => {
        if (page === "not_found") return "no_volume";
        const objects = (page.items ?? []).map(objectOf).filter(({ key }) => key !== after);
        return { objects, folders: page.prefixes ?? [], next: page.nextPageToken };
      });
    },

    stat: (volume, path) => find(volume, path).map((found) => (found === "no_object" ? found : objectOf(found))),

    /** Returns the stored bytes of the object's current generation, without decompression. */
    read: (volume, path) =>
      find(volume, path).map(async (found) => {
        if (found === "no_object") return found;
        const generation = String(found.generation);
        const file = (await api.storage()).bucket(volume.id).file(path, { generation });
        return file.createReadStream({ decompress: false });
      }),

    remove: ({ id }, path) =>
      api
        .deleteObject(id, path, undefined)
        .map((deleted) => (deleted === "not_found" ? ("no_object" as const) : undefined)),
  };
};
