/**
 * Port for volumes: named storage that outlives deployments. A volume is a bucket of objects. Clients transfer bytes
 * through signed URLs, directly with the storage. The core decides about names, lifetimes and permissions.
 */
import type { AccountId } from "../domain/accounts/account.ts";
import type { ObjectPath } from "../domain/volumes/object-path.ts";
import type { DeletedVolume } from "../domain/volumes/volume.ts";
import type { Instant, Timestamp } from "../domain/wire/instant.ts";
import type { VolumeName } from "../domain/wire/names.ts";
import type { Conflict, NotFound, Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

/** A volume that is not deleted. */
export interface StoredVolume {
  readonly name: VolumeName;
  readonly owner: AccountId;
  /** The bucket. Never reused, and URL-safe without escaping. */
  readonly id: string;
  readonly createdAt: Timestamp;
}

/** The state of a volume name, as one account sees it. */
export type VolumeState =
  | { readonly kind: "held"; readonly volume: StoredVolume }
  /** The account's volume, while its deletion is in progress. */
  | { readonly kind: "hidden" }
  /** Only another account has a volume of this name. */
  | { readonly kind: "elsewhere" }
  | { readonly kind: "free" };

export interface ObjectEntry {
  readonly path: ObjectPath;
  /** Bytes. */
  readonly size: number;
  readonly updated: Timestamp;
}

export interface ObjectQuery {
  /** Prefix of the paths to return. Empty: all paths. */
  readonly prefix: string;
  /** Returns only paths after this one, in the order of their UTF-8 bytes. */
  readonly after?: string;
  readonly limit: number;
}

export interface ObjectListing {
  /** Sorted by the UTF-8 bytes of their paths. */
  readonly objects: readonly ObjectEntry[];
  /** True if more objects follow. */
  readonly more: boolean;
}

/** A signed URL that permits one operation. */
export interface Grant {
  readonly url: string;
  /** The actual expiry, which must not be later than requested. */
  readonly expiresAt: Instant;
}

/** Signed URLs for an upload in parts: a PUT for each part, then a POST to `completeUrl`. */
export interface PartsGrant {
  /** In order and without gaps. `offset` and `length` are bytes of the object. */
  readonly parts: readonly { readonly url: string; readonly offset: number; readonly length: number }[];
  /** The body must be S3's `CompleteMultipartUpload`: the number of each part, from 1, and the `ETag` of its response. */
  readonly completeUrl: string;
  readonly expiresAt: Instant;
}

/** For storage that limits the size of one PUT. */
export interface UploadsInParts {
  /** Maximum bytes of one PUT. */
  readonly above: number;
  /** Maximum bytes of an object. */
  readonly maxBytes: number;
  /** Permits an upload of `size` bytes until `until`. The earlier object remains until the upload is complete. */
  grant(
    volume: StoredVolume,
    path: ObjectPath,
    size: number,
    until: Instant,
    options?: CallOptions,
  ): ResultAsync<PartsGrant, NotFound | Unavailable>;
}

export interface VolumeStore {
  /** Returns the state of the name. In this port, a call that begins after a write has ended must see that write. */
  find(owner: AccountId, name: VolumeName, options?: CallOptions): ResultAsync<VolumeState, Unavailable>;

  /** Returns the account's volumes sorted by name, without hidden and deleted ones. */
  list(owner: AccountId, options?: CallOptions): ResultAsync<readonly StoredVolume[], Unavailable>;

  /**
   * Creates a volume, or returns the existing one. Of concurrent calls, exactly one returns `created`. Fails with
   * `conflict` if a volume of this name is hidden.
   */
  create(
    owner: AccountId,
    name: VolumeName,
    options?: CallOptions,
  ): ResultAsync<{ readonly volume: StoredVolume; readonly created: boolean }, Conflict | Unavailable>;

  /**
   * Begins a deletion: hides a volume until `abortDelete` or `moveToTrash`. Its objects and grants remain. Fails with
   * `not_found` if there is no such volume, and with `conflict` if it is hidden already. If the caller ends before
   * `abortDelete` or `moveToTrash`, the store must show the volume again: at its next start, or after a minute.
   */
  beginDelete(volume: StoredVolume, options?: CallOptions): ResultAsync<void, NotFound | Conflict | Unavailable>;
  /** Cancels a deletion: makes a hidden volume visible. */
  abortDelete(volume: StoredVolume, options?: CallOptions): ResultAsync<void, Unavailable>;
  /**
   * Completes a deletion: moves a hidden volume to the trash. Its name becomes free, and its objects and grants must not
   * work until the volume is restored. Fails with `conflict` if the volume is no longer hidden.
   */
  moveToTrash(
    volume: StoredVolume,
    deletedAt: Timestamp,
    options?: CallOptions,
  ): ResultAsync<void, Conflict | Unavailable>;

  /** Returns the account's volumes in the trash, in any order, including those that have expired. */
  trash(owner: AccountId, options?: CallOptions): ResultAsync<readonly DeletedVolume[], Unavailable>;
  /** Restores a volume with its id and objects. Fails with `conflict` if its name is in use, or `not_found` if it is purged. */
  restore(
    owner: AccountId,
    id: string,
    options?: CallOptions,
  ): ResultAsync<StoredVolume, NotFound | Conflict | Unavailable>;

  /** Returns a page of the volume's objects, without files of services whose names are not valid object paths. */
  objects(
    volume: StoredVolume,
    query: ObjectQuery,
    options?: CallOptions,
  ): ResultAsync<ObjectListing, NotFound | Unavailable>;
  /** Returns the size and time of an object. */
  stat(volume: StoredVolume, path: ObjectPath, options?: CallOptions): ResultAsync<ObjectEntry, NotFound | Unavailable>;
  /** Returns the object's bytes as of the call. The iteration throws if reading fails. */
  read(
    volume: StoredVolume,
    path: ObjectPath,
    options?: CallOptions,
  ): ResultAsync<AsyncIterable<Uint8Array>, NotFound | Unavailable>;
  /** Deletes an object. */
  remove(volume: StoredVolume, path: ObjectPath, options?: CallOptions): ResultAsync<void, NotFound | Unavailable>;

  /**
   * Permits a PUT of one object until `until`. The storage must replace the object atomically: an aborted upload leaves the
   * earlier object unchanged.
   */
  grantUpload(
    volume: StoredVolume,
    path: ObjectPath,
    until: Instant,
    options?: CallOptions,
  ): ResultAsync<Grant, Unavailable>;
  /** Absent: one PUT may have any size. */
  readonly uploadsInParts?: UploadsInParts;
  /** Permits a GET of one object until `until`, and a HEAD with the capability `volumes.head_downloads`. */
  grantDownload(
    volume: StoredVolume,
    path: ObjectPath,
    until: Instant,
    options?: CallOptions,
  ): ResultAsync<Grant, Unavailable>;
}
