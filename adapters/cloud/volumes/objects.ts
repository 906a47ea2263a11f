/** Lists the objects of a volume, and returns the size and modification time of an object. */
import {
  comparePaths,
  isObjectFolder,
  type ObjectPath,
  parseObjectPath,
} from "../../../core/domain/volumes/object-path.ts";
import { timestampOf } from "../../../core/domain/wire/instant.ts";
import { type NotFound, notFound, type Unavailable } from "../../../core/errors.ts";
import type { ObjectEntry, ObjectListing, ObjectQuery, StoredVolume } from "../../../core/ports/volume-store.ts";
import { err, ok, type Result, type ResultAsync, safeTry } from "../../../core/result.ts";
import { type Listed, listingOf, pathOf } from "../../shared/volumes/listing.ts";
import type { BucketObject, Missing, ObjectDriver } from "./driver.ts";

type Found<T> = ResultAsync<T, NotFound | Unavailable>;

/** The largest page size that every cloud accepts. */
const PAGE_MAX = 1000;

const noVolume = ({ name }: StoredVolume): NotFound => notFound(`The volume '${name}' does not exist.`);

/** For `andThen`: fails with `not_found` if the cloud does not find the volume or the object. */
export const orNotFound =
  (volume: StoredVolume, path: ObjectPath) =>
  <T>(found: T | Missing): Result<T, NotFound> => {
    if (found === "no_volume") return err(noVolume(volume));
    return found === "no_object" ? err(notFound(`The volume '${volume.name}' has no object '${path}'.`)) : ok(found);
  };

const entryOf = (path: ObjectPath, { size, updated }: Omit<BucketObject, "key">): ObjectEntry => ({
  path,
  size,
  updated: timestampOf(updated),
});

/** Omits keys that are not valid paths. For example, a mount creates `a/` for a folder. */
const entriesOf = (object: BucketObject): ObjectEntry[] => {
  const path = parseObjectPath(object.key);
  return path === undefined ? [] : [entryOf(path, object)];
};

export const listObjects = (
  driver: ObjectDriver,
  volume: StoredVolume,
  { prefix, after, delimiter, limit }: ObjectQuery,
): Found<ObjectListing> =>
  safeTry(async function* () {
    const found: Listed[] = [];
    for (let token: string | undefined; ; ) {
      // Request one object more than the limit, to detect whether there are more.
      const max = Math.min(PAGE_MAX, limit - found.length + 1);
      const page = yield* driver.page(volume, { prefix, after, delimiter, limit: max, token });
      if (page === "no_volume") return err(noVolume(volume));
      const folders = page.folders.filter((folder) => isObjectFolder(folder) && comparePaths(folder, after ?? "") > 0);
      const listed = [...page.objects.flatMap(entriesOf), ...folders];
      found.push(...listed.sort((a, b) => comparePaths(pathOf(a), pathOf(b))));
      token = page.next;
      if (found.length > limit || token === undefined) return ok(listingOf(found, limit));
    }
  });

export const statObject = (driver: ObjectDriver, volume: StoredVolume, path: ObjectPath): Found<ObjectEntry> =>
  driver
    .stat(volume, path)
    .andThen(orNotFound(volume, path))
    .map((found) => entryOf(path, found));
