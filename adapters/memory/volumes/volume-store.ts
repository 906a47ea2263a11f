/** Stores volumes and objects in memory. Signed URLs are real and use the provider's loopback port. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { deletionCancelled, isBeingDeleted, nameIsTaken } from "../../../core/domain/volumes/conflicts.ts";
import { comparePaths, folderBelow, type ObjectPath } from "../../../core/domain/volumes/object-path.ts";
import { uploadExpiry } from "../../../core/domain/volumes/upload-parts.ts";
import { type Instant, timestampOf } from "../../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import { type NotFound, notFound, type Unavailable, unavailable } from "../../../core/errors.ts";
import type { Clock, Ids } from "../../../core/ports/system.ts";
import type {
  ObjectEntry,
  ObjectListing,
  ObjectQuery,
  StoredVolume,
  VolumeStore,
} from "../../../core/ports/volume-store.ts";
import { err, errAsync, ok, okAsync, type Result, ResultAsync } from "../../../core/result.ts";
import { listingOf } from "../../shared/volumes/listing.ts";
import { signParts, storageParts } from "../../shared/volumes/sign-parts.ts";
import { type StorageMethod, signUrl } from "../../shared/volumes/signed-url.ts";
import { findBucket, type StoredBucket, type StoredBytes, type World } from "../world.ts";
import type { MemoryStorage } from "./storage-server.ts";

const volumeOf = ({ name, owner, id, createdAt }: StoredBucket): StoredVolume => ({ name, owner, id, createdAt });

const entryOf = (path: string, { bytes, updated }: StoredBytes): ObjectEntry => ({
  path: path as ObjectPath,
  size: bytes.length,
  updated: timestampOf(updated),
});

const living = (world: World): StoredBucket[] => [...world.volumes.values()].filter((one) => one.deletedAt === null);

const named = (world: World, owner: AccountId, name: VolumeName): StoredBucket | undefined =>
  living(world).find((one) => one.owner === owner && one.name === name);

/** Returns the bucket of a volume, unless it is deleted. */
const bucketOf = (world: World, { id, name }: StoredVolume): Result<StoredBucket, NotFound> => {
  const bucket = findBucket(world, id);
  return bucket === undefined ? err(notFound(`The volume '${name}' does not exist.`)) : ok(bucket);
};

const objectOf = (world: World, volume: StoredVolume, path: ObjectPath): Result<StoredBytes, NotFound> =>
  bucketOf(world, volume).andThen(({ objects }) => {
    const found = objects.get(path);
    return found === undefined ? err(notFound(`The volume '${volume.name}' has no object '${path}'.`)) : ok(found);
  });

const pageOf = ({ objects }: StoredBucket, { prefix, after = "", delimiter, limit }: ObjectQuery): ObjectListing => {
  const grouped = (path: string): string => (delimiter === undefined ? undefined : folderBelow(prefix, path)) ?? path;
  const paths = [...objects.keys()].filter((path) => path.startsWith(prefix)).map(grouped);
  const found = [...new Set(paths)].filter((path) => comparePaths(path, after) > 0).sort(comparePaths);
  const listed = found.map((path) => {
    const object = objects.get(path);
    return object === undefined ? path : entryOf(path, object);
  });
  return listingOf(listed, limit);
};

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
}

const empty = (): Pick<StoredBucket, "objects" | "uploads"> => ({ objects: new Map(), uploads: new Map() });

const lifecycle = (world: World, clock: Clock, ids: Ids) =>
  ({
    find: (owner, name) => {
      const own = named(world, owner, name);
      if (own !== undefined) return okAsync(own.hidden ? { kind: "hidden" } : { kind: "held", volume: volumeOf(own) });
      return okAsync({ kind: living(world).some((one) => one.name === name) ? "other_account" : "free" });
    },
    list: (owner) =>
      okAsync(
        living(world)
          .filter((one) => one.owner === owner && !one.hidden)
          .sort((a, b) => (a.name < b.name ? -1 : 1))
          .map(volumeOf),
      ),
    create: (owner, name) => {
      const present = named(world, owner, name);
      if (present?.hidden === true) return errAsync(isBeingDeleted(name));
      if (present !== undefined) return okAsync({ volume: volumeOf(present), created: false });
      const id = `vol-${ids.id()}`;
      const createdAt = timestampOf(clock.now());
      const bucket: StoredBucket = { id, owner, name, createdAt, hidden: false, deletedAt: null, ...empty() };
      world.volumes.set(id, bucket);
      return okAsync({ volume: volumeOf(bucket), created: true });
    },
    beginDelete: (volume) => {
      const bucket = bucketOf(world, volume);
      if (bucket.isErr()) return errAsync(bucket.error);
      if (bucket.value.hidden) return errAsync(isBeingDeleted(volume.name));
      bucket.value.hidden = true;
      return okAsync(undefined);
    },
    abortDelete: (volume) => {
      const bucket = world.volumes.get(volume.id);
      if (bucket !== undefined) bucket.hidden = false;
      return okAsync(undefined);
    },
    moveToTrash: (volume, deletedAt) => {
      const bucket = world.volumes.get(volume.id);
      if (bucket?.hidden !== true) return errAsync(deletionCancelled(volume.name));
      Object.assign(bucket, { hidden: false, deletedAt });
      bucket.uploads.clear();
      return okAsync(undefined);
    },
    trash: (owner) =>
      okAsync(
        [...world.volumes.values()].flatMap(({ id, name, deletedAt, ...one }) =>
          deletedAt !== null && one.owner === owner ? [{ id, name, deletedAt }] : [],
        ),
      ),
    restore: (owner, id) => {
      const bucket = world.volumes.get(id);
      if (bucket === undefined || bucket.owner !== owner || bucket.deletedAt === null)
        return errAsync(notFound("The trash does not contain this volume."));
      if (named(world, owner, bucket.name) !== undefined) return errAsync(nameIsTaken(bucket.name));
      bucket.deletedAt = null;
      return okAsync(volumeOf(bucket));
    },
  }) satisfies Partial<VolumeStore>;

/** Deletes expired uploads. */
const sweepUploads = ({ uploads }: StoredBucket, now: Instant): void => {
  for (const [id, { startedAt }] of uploads) if (uploadExpiry(startedAt) <= now) uploads.delete(id);
};

const noUpload = notFound("The upload does not exist.");

export const createMemoryVolumes = (
  world: World,
  clock: Clock,
  ids: Ids,
  storage: MemoryStorage,
): VolumeStore & Required<Pick<VolumeStore, "uploadsInParts">> => {
  const signed = <T>(sign: (base: string) => T): ResultAsync<T, Unavailable> =>
    ResultAsync.fromPromise(storage.base(), (cause) =>
      unavailable("The memory provider's storage server could not start. Try again.", 5, cause),
    ).map(sign);
  const grant =
    (method: StorageMethod): VolumeStore["grantUpload"] =>
    ({ id: bucket }, path, until) =>
      signed((base) => signUrl(storage.key, base, { method, bucket, path }, until));
  return {
    ...lifecycle(world, clock, ids),
    objects: (volume, query) =>
      bucketOf(world, volume)
        .map((bucket) => pageOf(bucket, query))
        .asyncMap(async (page) => page),
    stat: (volume, path) => objectOf(world, volume, path).asyncMap(async (found) => entryOf(path, found)),
    read: (volume, path) => objectOf(world, volume, path).asyncMap(async ({ bytes }) => chunksOf(bytes)),
    remove: (volume, path) =>
      objectOf(world, volume, path).asyncMap(async () => void world.volumes.get(volume.id)?.objects.delete(path)),
    grantUpload: grant("PUT"),
    grantDownload: grant("GET"),
    grantOrigins: () => signed((base) => [base]),
    uploadsInParts: {
      ...storageParts,
      pending: (volume) =>
        bucketOf(world, volume).asyncMap(async (bucket) => {
          sweepUploads(bucket, clock.now());
          return bucket.uploads.size;
        }),
      begin: (volume, path) =>
        bucketOf(world, volume).asyncMap(async (bucket) => {
          const [id, startedAt] = [ids.id(), clock.now()];
          sweepUploads(bucket, startedAt);
          bucket.uploads.set(id, { path, startedAt, parts: new Map() });
          return id;
        }),
      stored: ({ volume, path, id }) =>
        bucketOf(world, volume)
          .andThen(({ uploads }) => {
            const upload = uploads.get(id);
            return upload?.path === path ? ok(upload) : err(noUpload);
          })
          .asyncMap(async ({ parts }) =>
            [...parts].map(([number, { bytes, etag }]) => ({ number, size: bytes.length, etag })),
          ),
      grant: (upload, parts, until) => signed((base) => signParts(storage.key, base, upload, parts, until)),
    },
  };
};
