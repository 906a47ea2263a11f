/** The interface between the storage endpoint and the store of the bytes. */
import type { Readable } from "node:stream";
import type { ObjectPath } from "../../../core/domain/volumes/object-path.ts";

export interface FoundObject {
  /** The size in bytes. */
  readonly size: number;
  /** A strong entity tag, including its quotes. Differs for different content. */
  readonly etag: string;
  /** The modification time in milliseconds since 1970. */
  readonly modified: number;
  /**
   * Returns the bytes from `start` to `end`, both inclusive. For each object, the caller must call either `bytes` or
   * `close`, exactly once.
   */
  bytes(start: number, end: number): Readable;
  close(): Promise<void>;
}

/** Preconditions of an upload on the existing object. `*` means any object. */
export interface WriteConditions {
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

export type PutOutcome =
  | { readonly kind: "stored"; readonly etag: string; readonly created: boolean }
  | { readonly kind: "no_volume" }
  | { readonly kind: "condition_failed" }
  /** `other` conflicts with the object: a name cannot be both a file and a folder. */
  | { readonly kind: "in_the_way"; readonly other: string }
  /** The folders of the path changed repeatedly during the upload. The earlier object remains. */
  | { readonly kind: "busy"; readonly cause: unknown };

/** A part in the body that completes an upload. */
export interface ListedPart {
  readonly number: number;
  readonly etag: string;
}

export type PartOutcome =
  | { readonly kind: "stored"; readonly etag: string }
  /** The upload does not exist, or is complete. */
  | { readonly kind: "no_upload" };

/** `invalid_part`: the storage does not have this part with this entity tag. */
export type CompleteOutcome =
  | PutOutcome
  | { readonly kind: "no_upload" }
  | { readonly kind: "invalid_part"; readonly number: number }
  /** The total size of the parts differs from the declared size of the object. */
  | { readonly kind: "wrong_size"; readonly size: number };

export interface ObjectBytes {
  /** Returns the object, or undefined if it does not exist. */
  find(bucket: string, path: ObjectPath): Promise<FoundObject | undefined>;
  /**
   * Replaces the object atomically when `body` has ended, if the conditions still hold. If `body` fails, rejects and
   * leaves the earlier object unchanged. May leave `body` unread.
   */
  put(bucket: string, path: ObjectPath, body: Readable, conditions: WriteConditions): Promise<PutOutcome>;
  /**
   * Stores one part of an upload when `body` has ended, and replaces an earlier part of the same number. If `body`
   * fails, rejects and keeps the earlier part. May leave `body` unread.
   */
  putPart(bucket: string, path: ObjectPath, upload: string, number: number, body: Readable): Promise<PartOutcome>;
  /**
   * Replaces the object atomically with the listed parts, and deletes the upload. If concurrent calls complete an
   * upload, exactly one of them succeeds.
   * @param parts sorted by number, without duplicates
   * @param size the size of the object
   */
  complete(
    bucket: string,
    path: ObjectPath,
    upload: string,
    parts: readonly ListedPart[],
    size: number,
    conditions: WriteConditions,
  ): Promise<CompleteOutcome>;
}

const tagsOf = (header: string): string[] => header.split(",").map((tag) => tag.trim());

/**
 * Returns whether a conditional request may proceed, given the entity tag of the existing object (undefined if it does
 * not exist). https://www.rfc-editor.org/rfc/rfc9110#section-13.1
 */
export const conditionsHold = ({ ifMatch, ifNoneMatch }: WriteConditions, present: string | undefined): boolean => {
  if (ifMatch !== undefined && (present === undefined || !(ifMatch === "*" || tagsOf(ifMatch).includes(present))))
    return false;
  if (ifNoneMatch === undefined || present === undefined) return true;
  return ifNoneMatch !== "*" && !tagsOf(ifNoneMatch).some((tag) => tag.replace(/^W\//, "") === present);
};
