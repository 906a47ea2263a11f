/**
 * Port for volumes, which are named storage that outlives deployments. A volume is a bucket of objects. Clients upload
 * to and download from the storage directly, through signed URLs. The core validates names and checks permissions
 * before each call.
 */
import type { AccountId } from "../domain/accounts/account.ts";
import type { FOLDER_DELIMITER, ObjectPath } from "../domain/volumes/object-path.ts";
import type { PartBounds, PartRange, StoredPart } from "../domain/volumes/upload-parts.ts";
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
  /** The id of the bucket. Must never be reused, and must be valid in a URL without escaping. */
  readonly id: string;
  readonly createdAt: Timestamp;
}

/** The state of a volume name, as one account sees it. */
export type VolumeState =
  /** The account has a volume of this name. */
  | { readonly kind: "held"; readonly volume: StoredVolume }
  /** The account has a volume of this name, and its deletion is in progress. */
  | { readonly kind: "hidden" }
  /** Another account has a volume of this name. The calling account has no volume of this name. */
  | { readonly kind: "other_account" }
  /** No account has a volume of this name. */
  | { readonly kind: "free" };

/** An object, without its bytes. */
export interface ObjectEntry {
  readonly path: ObjectPath;
  /** The size in bytes. */
  readonly size: number;
  /** When the object was last written. */
  readonly updated: Timestamp;
}

/** Selects a page of objects. */
export interface ObjectQuery {
  /** Selects paths that begin with this text. The empty string selects all paths. */
  readonly prefix: string;
  /** Selects paths and folders that sort after this text, by UTF-8 bytes. Absent: from the first path. */
  readonly after?: string;
  /**
   * Groups the paths that contain this character after the prefix: the page contains their common folder instead of
   * the objects. `folderBelow` returns that folder. Absent: no folders.
   */
  readonly delimiter?: typeof FOLDER_DELIMITER;
  /** Maximum number of objects and folders. The caller must pass 1 to 1000. */
  readonly limit: number;
}

/** A page of objects. */
export interface ObjectListing {
  /** Sorted by the UTF-8 bytes of the paths. */
  readonly objects: readonly ObjectEntry[];
  /** Each folder once, with a trailing `/`, sorted by UTF-8 bytes. Empty without a delimiter. */
  readonly folders: readonly string[];
  /** True if more objects or folders follow. */
  readonly more: boolean;
}

/** A signed URL that permits one method on one object. */
export interface Grant {
  readonly url: string;
  /** When the URL expires. Must not be later than the caller requested, but may be earlier. */
  readonly expiresAt: Instant;
}

/** An upload in parts that is neither complete nor deleted. */
export interface PendingUpload {
  readonly volume: StoredVolume;
  readonly path: ObjectPath;
  /** The id that `begin` returned. The caller may pass an id of another upload, or any other text. */
  readonly id: string;
}

/** Signed URLs for an upload in parts. The client sends a PUT for each part, then a POST to `completeUrl`. */
export interface PartsGrant {
  /** One URL for each part, in order. The storage must accept only a body of exactly the part's length. */
  readonly urls: readonly string[];
  /**
   * Completes the upload. The body must be S3's `CompleteMultipartUpload`: for each part its number, counted from 1,
   * and the `ETag` of its response.
   */
  readonly completeUrl: string;
  /** When all URLs expire. */
  readonly expiresAt: Instant;
}

/**
 * Uploads in parts, which can resume and may exceed the maximum size of one PUT.
 *
 * The storage must not replace an earlier object before the upload is complete. It must delete an incomplete upload
 * after `uploadHours`; at that time, the caller no longer grants URLs. It may delete the uploads of a volume when the
 * volume moves to the trash.
 */
export interface UploadsInParts {
  /** Maximum size of one PUT in bytes. Infinity if a PUT may have any size. */
  readonly above: number;
  /** Maximum size of an object in bytes. */
  readonly maxBytes: number;
  readonly bounds: PartBounds;
  /**
   * Returns the number of incomplete uploads of the volume. May stop counting at `pendingUploadsMax`. May include
   * expired uploads that the storage has not deleted yet. Fails with `not_found` if the volume does not exist.
   */
  pending(volume: StoredVolume, options?: CallOptions): ResultAsync<number, NotFound | Unavailable>;
  /** Begins an upload, and returns its id. Fails with `not_found` if the volume does not exist. */
  begin(volume: StoredVolume, path: ObjectPath, options?: CallOptions): ResultAsync<string, NotFound | Unavailable>;
  /**
   * Returns the parts that the storage has, in any order. A part that was uploaded several times must occur once. Fails
   * with `not_found` if the volume has no such upload for the path, or if the upload is complete.
   */
  stored(upload: PendingUpload, options?: CallOptions): ResultAsync<readonly StoredPart[], NotFound | Unavailable>;
  /** Returns URLs for these parts, which are all parts of the upload. The URLs are valid until `until`. */
  grant(
    upload: PendingUpload,
    parts: readonly PartRange[],
    until: Instant,
    options?: CallOptions,
  ): ResultAsync<PartsGrant, Unavailable>;
}

/**
 * Stores volumes and their objects. Every call must reflect all writes through this port that ended before the call.
 *
 * A deletion has two steps, so that it cannot race with a rollout that mounts the volume: `beginDelete`, then either
 * `moveToTrash` or `abortDelete`.
 */
export interface VolumeStore {
  /** Returns the state of a name. */
  find(owner: AccountId, name: VolumeName, options?: CallOptions): ResultAsync<VolumeState, Unavailable>;

  /** Returns the account's volumes, sorted by name. Omits hidden volumes and volumes in the trash. */
  list(owner: AccountId, options?: CallOptions): ResultAsync<readonly StoredVolume[], Unavailable>;

  /**
   * Creates a volume, or returns the account's existing volume of this name. `created` is true if this call created it.
   * If concurrent calls create the same volume, `created` must be true for exactly one of them. Fails with `conflict`
   * if the volume is hidden.
   */
  create(
    owner: AccountId,
    name: VolumeName,
    options?: CallOptions,
  ): ResultAsync<{ readonly volume: StoredVolume; readonly created: boolean }, Conflict | Unavailable>;

  /**
   * Begins a deletion by hiding the volume. Its objects and signed URLs must remain accessible.
   *
   * The caller must then call `abortDelete` or `moveToTrash`. If the caller stops before that, the store must make the
   * volume visible again after one minute or when the store next starts. Fails with `not_found` if the volume does not
   * exist, and with `conflict` if it is already hidden.
   */
  beginDelete(volume: StoredVolume, options?: CallOptions): ResultAsync<void, NotFound | Conflict | Unavailable>;
  /** Cancels a deletion by making the hidden volume visible again. */
  abortDelete(volume: StoredVolume, options?: CallOptions): ResultAsync<void, Unavailable>;
  /**
   * Completes a deletion by moving the hidden volume to the trash, which frees the name. The volume's objects and
   * signed URLs must be inaccessible unless the volume is restored. Fails with `conflict` if the volume is not hidden.
   */
  moveToTrash(
    volume: StoredVolume,
    deletedAt: Timestamp,
    options?: CallOptions,
  ): ResultAsync<void, Conflict | Unavailable>;

  /** Returns the account's volumes in the trash, in any order. May include volumes that can no longer be restored. */
  trash(owner: AccountId, options?: CallOptions): ResultAsync<readonly DeletedVolume[], Unavailable>;
  /**
   * Restores a volume from the trash, with its id and objects. Fails with `conflict` if the account has a volume of the
   * same name, and with `not_found` if the trash does not contain the volume.
   */
  restore(
    owner: AccountId,
    id: string,
    options?: CallOptions,
  ): ResultAsync<StoredVolume, NotFound | Conflict | Unavailable>;

  /**
   * Returns a page of the volume's objects. Services may write files whose names are not valid object paths; the page
   * omits them. The page may include a folder without objects if a service created the folder. Fails with `not_found`
   * if the volume does not exist.
   */
  objects(
    volume: StoredVolume,
    query: ObjectQuery,
    options?: CallOptions,
  ): ResultAsync<ObjectListing, NotFound | Unavailable>;
  /**
   * Returns the size and the time of the last write of an object. Fails with `not_found` if the volume or the object
   * does not exist.
   */
  stat(volume: StoredVolume, path: ObjectPath, options?: CallOptions): ResultAsync<ObjectEntry, NotFound | Unavailable>;
  /**
   * Returns the object's bytes as of the call, even if the object is replaced later. The iteration throws if reading
   * fails. Fails with `not_found` if the volume or the object does not exist.
   */
  read(
    volume: StoredVolume,
    path: ObjectPath,
    options?: CallOptions,
  ): ResultAsync<AsyncIterable<Uint8Array>, NotFound | Unavailable>;
  /** Deletes an object. Fails with `not_found` if the volume or the object does not exist. */
  remove(volume: StoredVolume, path: ObjectPath, options?: CallOptions): ResultAsync<void, NotFound | Unavailable>;

  /**
   * Returns a URL that permits a PUT of one object until `until`. The storage must replace the object atomically: a
   * failed upload must leave the earlier object unchanged.
   */
  grantUpload(
    volume: StoredVolume,
    path: ObjectPath,
    until: Instant,
    options?: CallOptions,
  ): ResultAsync<Grant, Unavailable>;
  /** Present with the capability `volumes.resumable_uploads`. Absent: a PUT may have any size. */
  readonly uploadsInParts?: UploadsInParts;
  /**
   * Returns a URL that permits a GET of one object until `until`. With the capability `volumes.head_downloads`, the URL
   * must also permit a HEAD.
   */
  grantDownload(
    volume: StoredVolume,
    path: ObjectPath,
    until: Instant,
    options?: CallOptions,
  ): ResultAsync<Grant, Unavailable>;
  /**
   * Returns the origins of all signed URLs, as host sources of a Content-Security-Policy, such as
   * `https://*.s3.eu-central-1.amazonaws.com`. The console's page may connect to these origins only. Must be present
   * with the capability `volumes.cors`.
   * https://www.w3.org/TR/CSP3/#grammardef-host-source
   */
  grantOrigins?(options?: CallOptions): ResultAsync<readonly string[], Unavailable>;
}
