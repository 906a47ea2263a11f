/**
 * The interface that a cloud implements for volumes: their records and their buckets. The other files of this folder
 * decide the order of the steps.
 */
import type { ObjectPath } from "../../../core/domain/volumes/object-path.ts";
import type { Instant, Timestamp } from "../../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import type { Conflict, NotFound, Unavailable } from "../../../core/errors.ts";
import type { Grant, ObjectQuery, StoredVolume } from "../../../core/ports/volume-store.ts";
import type { ResultAsync } from "../../../core/result.ts";
import type { ApiResult } from "../calls/expect-states.ts";
import type { VolumeRecord } from "./record.ts";

/** The record after a change, and whether this call changed it. */
export type Change<R> =
  | { readonly changed: true; readonly record: R }
  | { readonly changed: false; readonly record: R | undefined };

/** The records of an account's volumes. */
export interface VolumeRecords<R extends VolumeRecord> {
  /** Returns the account's records in every state. With a name, may omit the records of other names. */
  all(name?: VolumeName): ApiResult<readonly R[]>;
  /** Age in milliseconds. */
  ageOf(at: Instant): number;
  /**
   * Changes the state of a volume that meets the condition. If the record has changed since the read, reads it and
   * checks the condition again. If a response was lost, the call's id in the record shows that the change was applied.
   *
   * @param deletedAt set when the volume moves to the trash
   */
  change(
    id: string,
    to: "live" | "hidden" | "deleting",
    condition: (record: R) => boolean,
    deletedAt?: Timestamp,
  ): ApiResult<Change<R>>;
}

export interface BucketObject {
  readonly key: string;
  /** The size in bytes. */
  readonly size: number;
  readonly updated: Instant;
}

/** A page of a listing in the order of the keys' UTF-8 bytes. */
export interface ObjectPage {
  readonly objects: readonly BucketObject[];
  /** The common prefixes of the keys that contain the delimiter after the prefix. */
  readonly folders: readonly string[];
  /** The token of the next page. Absent on the last page. */
  readonly next: string | undefined;
}

export interface ObjectPageQuery {
  readonly prefix: string;
  /** The page begins after this text. It may also include a folder that sorts before the text. */
  readonly after: string | undefined;
  readonly delimiter: ObjectQuery["delimiter"];
  /** At most 1000. */
  readonly limit: number;
  readonly token: string | undefined;
}

/** What the cloud did not find: the volume or the object. */
export type Missing = "no_volume" | "no_object";

/** The objects of an account's volumes. */
export interface ObjectDriver {
  page(volume: StoredVolume, query: ObjectPageQuery): ApiResult<ObjectPage | "no_volume">;
  stat(volume: StoredVolume, path: ObjectPath): ApiResult<Omit<BucketObject, "key"> | Missing>;
  /** Returns the bytes of one version of the object, even if an upload replaces the object during the read. */
  read(volume: StoredVolume, path: ObjectPath): ApiResult<AsyncIterable<Uint8Array> | Missing>;
  remove(volume: StoredVolume, path: ObjectPath): ApiResult<Missing | undefined>;
}

/** The result of an attempt to create a volume. `again`: the state has changed, and the caller must start over. */
export type Creation<R> = { readonly record: R; readonly created: boolean } | "again";

/** The volumes of one account. A driver serves one call of the port, and stops when the call's signal aborts. */
export interface VolumeDriver<R extends VolumeRecord> extends ObjectDriver {
  readonly records: VolumeRecords<R>;
  /** Returns the records of volumes in the trash. May also return other records. */
  trash(): ApiResult<readonly R[]>;
  /** Returns whether another account uses the name. */
  isHeldByOther(name: VolumeName): ApiResult<boolean>;

  /**
   * Claims the name, creates the bucket, and then makes the volume live with one conditional write. If another record
   * already holds the name, returns that record instead.
   */
  create(name: VolumeName): ApiResult<Creation<R>>;
  /**
   * Makes the objects of a volume in the trash unreachable, and frees its name. Returns `restored` if a concurrent call
   * restored the volume.
   */
  close(trashed: R): ApiResult<"closed" | "restored">;
  /** Claims the name of a volume in the trash. Returns its record, or `again` if the state has changed. */
  claimTrashed(id: string): ResultAsync<R | "again", NotFound | Conflict | Unavailable>;
  /** Makes the objects of a restored volume reachable. Returns its record, or undefined if its bucket is lost. */
  open(restored: R): ApiResult<R | undefined>;
  /**
   * Returns the volume's pending work: work that an interrupted call left behind, or work that is due because of the
   * volume's age. Undefined if there is no work.
   */
  readonly dueWork: (record: R) => (() => ApiResult<unknown>) | undefined;
}

/**
 * Signs a URL for one object.
 *
 * @param contentType the content type of a download; undefined for an upload
 */
export type SignUrl = (
  volume: StoredVolume,
  path: ObjectPath,
  until: Instant,
  contentType?: string,
) => ResultAsync<Grant, Unavailable>;
