/**
 * Named storage that outlives deployments. A volume is a bucket of objects; its bytes never pass the control plane:
 * clients get signed URLs and talk to the storage directly. Names, lifetimes and who may do what are decided above.
 */
import type { AccountId } from "../domain/account.ts";
import type { Instant, Timestamp } from "../domain/instant.ts";
import type { VolumeName } from "../domain/names.ts";
import type { ObjectPath } from "../domain/object-path.ts";
import type { DeletedVolume } from "../domain/volume.ts";
import type { Conflict, NotFound, Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

/** A volume that lives. */
export interface StoredVolume {
  readonly name: VolumeName;
  readonly owner: AccountId;
  /** The bucket: unique for ever, and fit for a URL as it stands. */
  readonly id: string;
  readonly createdAt: Timestamp;
}

/** What an account finds under a volume's name. */
export type VolumeState =
  | { readonly kind: "held"; readonly volume: StoredVolume }
  /** Its own, while it is decided whether it goes. */
  | { readonly kind: "hidden" }
  /** None of its own, but another account has one. */
  | { readonly kind: "elsewhere" }
  | { readonly kind: "free" };

export interface ObjectEntry {
  readonly path: ObjectPath;
  /** Bytes. */
  readonly size: number;
  readonly updated: Timestamp;
}

export interface ObjectQuery {
  /** Paths that begin with this; empty for all. */
  readonly prefix: string;
  /** Paths strictly behind this one, in the order of their UTF-8 bytes. */
  readonly after?: string;
  readonly limit: number;
}

export interface ObjectListing {
  /** By the UTF-8 bytes of their paths. */
  readonly objects: readonly ObjectEntry[];
  /** There are more behind the last one. */
  readonly more: boolean;
}

/** A URL with the right to do one thing. */
export interface Grant {
  readonly url: string;
  /** When it ends in truth; never later than asked for. */
  readonly expiresAt: Instant;
}

/** The right to put one object in parts: each by a PUT to its URL, and then all of them by a POST to `completeUrl`. */
export interface PartsGrant {
  /** In order, without gaps; `offset` and `length` are bytes of the object. */
  readonly parts: readonly { readonly url: string; readonly offset: number; readonly length: number }[];
  /** Its body is S3's `CompleteMultipartUpload`: of each part its number, from 1 on, and the `ETag` of its answer. */
  readonly completeUrl: string;
  readonly expiresAt: Instant;
}

/** Of storage that takes only so much in one PUT. */
export interface UploadsInParts {
  /** Bytes that one PUT may have. */
  readonly above: number;
  /** Bytes that an object may have. */
  readonly most: number;
  /** The right to put this one object of `size` bytes until `until`; what was there stays until all is complete. */
  grant(
    volume: StoredVolume,
    path: ObjectPath,
    size: number,
    until: Instant,
    options?: CallOptions,
  ): ResultAsync<PartsGrant, NotFound | Unavailable>;
}

export interface VolumeStore {
  /** What stands under the name for this account. A call that begins after a write ended sees it, as everywhere here. */
  find(owner: AccountId, name: VolumeName, options?: CallOptions): ResultAsync<VolumeState, Unavailable>;

  /** The account's volumes that live, hidden ones left out, by name. */
  list(owner: AccountId, options?: CallOptions): ResultAsync<readonly StoredVolume[], Unavailable>;

  /**
   * Makes a volume, or gives back the one that is there: of calls that race, one has created it.
   * `conflict`: one of the name is hidden now.
   */
  create(
    owner: AccountId,
    name: VolumeName,
    options?: CallOptions,
  ): ResultAsync<{ readonly volume: StoredVolume; readonly created: boolean }, Conflict | Unavailable>;

  /**
   * Takes a volume out of sight until `show` or `discard`; its bytes and grants stay. `not_found`: it does not live;
   * `conflict`: it is hidden. A store that outlives the caller shows it again by itself: when it starts, or a minute
   * after a caller that said nothing more.
   */
  hide(volume: StoredVolume, options?: CallOptions): ResultAsync<void, NotFound | Conflict | Unavailable>;
  /** Ends `hide`. */
  show(volume: StoredVolume, options?: CallOptions): ResultAsync<void, Unavailable>;
  /**
   * Moves a hidden volume to the trash: its name is free, its objects and grants lead nowhere until it is restored.
   * `conflict`: it is not hidden any more; it stays.
   */
  discard(volume: StoredVolume, deletedAt: Timestamp, options?: CallOptions): ResultAsync<void, Conflict | Unavailable>;

  /** The account's volumes in the trash, in any order, also such that may not be restored any more. */
  trash(owner: AccountId, options?: CallOptions): ResultAsync<readonly DeletedVolume[], Unavailable>;
  /** Brings one back, with its id and objects. `conflict`: a volume of its name lives; `not_found`: it is gone. */
  restore(
    owner: AccountId,
    id: string,
    options?: CallOptions,
  ): ResultAsync<StoredVolume, NotFound | Conflict | Unavailable>;

  /** A page of the volume's objects. What a service writes that no object path can name is left out. */
  objects(
    volume: StoredVolume,
    query: ObjectQuery,
    options?: CallOptions,
  ): ResultAsync<ObjectListing, NotFound | Unavailable>;
  /** `not_found`: there is no such object. */
  stat(volume: StoredVolume, path: ObjectPath, options?: CallOptions): ResultAsync<ObjectEntry, NotFound | Unavailable>;
  /** The object's bytes, as they were at the call; an error on the way is thrown from the iteration. */
  read(
    volume: StoredVolume,
    path: ObjectPath,
    options?: CallOptions,
  ): ResultAsync<AsyncIterable<Uint8Array>, NotFound | Unavailable>;
  /** `not_found`: there is no such object. */
  remove(volume: StoredVolume, path: ObjectPath, options?: CallOptions): ResultAsync<void, NotFound | Unavailable>;

  /**
   * The right to PUT this one object until `until`. The storage replaces an object at once and whole: a cut upload
   * leaves the earlier one.
   */
  grantUpload(
    volume: StoredVolume,
    path: ObjectPath,
    until: Instant,
    options?: CallOptions,
  ): ResultAsync<Grant, Unavailable>;
  /** Absent: an object of any size is put at once. */
  readonly uploadsInParts?: UploadsInParts;
  /** The right to GET this one object until `until`; and to HEAD it, where `volumes.head_downloads` is offered. */
  grantDownload(
    volume: StoredVolume,
    path: ObjectPath,
    until: Instant,
    options?: CallOptions,
  ): ResultAsync<Grant, Unavailable>;
}
