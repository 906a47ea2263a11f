/**
 * Lists, stats, reads and removes a volume's objects. A volume that is not live has none, whatever its bucket contains.
 */

import type { _Object as S3Object } from "@aws-sdk/client-s3";
import { type ObjectPath, parseObjectPath } from "../../../core/domain/volumes/object-path.ts";
import { instantOfMillis, timestampOf } from "../../../core/domain/wire/instant.ts";
import { type NotFound, notFound, type Unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import type { ObjectEntry, ObjectListing, ObjectQuery, StoredVolume } from "../../../core/ports/volume-store.ts";
import { err, errAsync, ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import type { VolumeDeps } from "./deps.ts";
import { decodedKey } from "./s3-calls.ts";

type Found<T> = ResultAsync<T, NotFound | Unavailable>;

/** Maximum page size: https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html */
const PAGE_MAX = 1000;

const noVolume = ({ name }: StoredVolume): NotFound => notFound(`The volume '${name}' does not exist.`);
const noObject = ({ name }: StoredVolume, path: string): NotFound => notFound(`'${name}' has no object '${path}'.`);

interface ObjectStat {
  readonly size: number | undefined;
  readonly at: Date | undefined;
}

/** Rounds down to seconds, because HeadObject returns HTTP dates in whole seconds. */
const entryOf = (path: ObjectPath, { size = 0, at }: ObjectStat): ObjectEntry => ({
  path,
  size,
  updated: timestampOf(instantOfMillis(Math.floor((at?.getTime() ?? 0) / 1000) * 1000)),
});

/** Reads the record first: the policy that closes a trashed volume's bucket takes effect with a delay. */
const ifLive = <T>(
  { records }: VolumeDeps,
  volume: StoredVolume,
  options: CallOptions,
  act: () => Found<T>,
): Found<T> =>
  records
    .get(accountDigest(volume.owner), volume.id, options)
    .andThen((found) =>
      found?.state === "live" || found?.state === "hidden" ? act() : errAsync<T, NotFound>(noVolume(volume)),
    );

/** Returns none for keys that are not valid paths, such as `a/`, with which a mount represents a folder. */
const entriesOf = ({ Key = "", Size, LastModified }: S3Object): ObjectEntry[] => {
  const path = parseObjectPath(decodedKey(Key));
  return path === undefined ? [] : [entryOf(path, { size: Size, at: LastModified })];
};

/** Returns a page in S3's order: by the UTF-8 bytes of the keys. */
const pageOf = (
  { api }: VolumeDeps,
  volume: StoredVolume,
  { prefix, after, limit }: ObjectQuery,
  options: CallOptions,
): Found<ObjectListing> =>
  safeTry(async function* () {
    const objects: ObjectEntry[] = [];
    for (let token: string | undefined; ; ) {
      const from = token === undefined ? { StartAfter: after } : { ContinuationToken: token };
      // One more than the limit shows whether more exist.
      const MaxKeys = Math.min(PAGE_MAX, limit - objects.length + 1);
      const page = yield* await api.objects({ Bucket: volume.id, Prefix: prefix, MaxKeys, ...from }, options);
      if (page === "not_found") return err(noVolume(volume));
      objects.push(...(page.Contents ?? []).flatMap(entriesOf));
      if (objects.length > limit) return ok({ objects: objects.slice(0, limit), more: true });
      token = page.NextContinuationToken;
      if (token === undefined) return ok({ objects, more: false });
    }
  });

export const listObjects = (
  deps: VolumeDeps,
  volume: StoredVolume,
  query: ObjectQuery,
  options: CallOptions,
): Found<ObjectListing> => ifLive(deps, volume, options, () => pageOf(deps, volume, query, options));

export const statObject = (
  deps: VolumeDeps,
  volume: StoredVolume,
  path: ObjectPath,
  options: CallOptions,
): Found<ObjectEntry> =>
  ifLive(deps, volume, options, () => deps.api.head(volume.id, path, options)).andThen((found) =>
    found === "not_found"
      ? err(noObject(volume, path))
      : ok(entryOf(path, { size: found.ContentLength, at: found.LastModified })),
  );

async function* emptyBody(): AsyncGenerator<Uint8Array> {}

/**
 * A response contains the bytes of one version:
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/Welcome.html#ConsistencyModel
 */
export const readObject = (
  deps: VolumeDeps,
  volume: StoredVolume,
  path: ObjectPath,
  options: CallOptions,
): Found<AsyncIterable<Uint8Array>> =>
  ifLive(deps, volume, options, () => deps.api.get(volume.id, path, options)).andThen((found) =>
    found === "not_found"
      ? err(noObject(volume, path))
      : ok((found.Body as AsyncIterable<Uint8Array> | undefined) ?? emptyBody()),
  );

export const removeObject = (
  deps: VolumeDeps,
  volume: StoredVolume,
  path: ObjectPath,
  options: CallOptions,
): Found<void> =>
  ifLive(deps, volume, options, () => deps.api.deleteObject(volume.id, path, options)).andThen((state) =>
    state === "not_found" ? err(noObject(volume, path)) : ok(undefined),
  );
