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

export interface ObjectBytes {
  /** Returns the object, or undefined if it does not exist. */
  find(bucket: string, path: ObjectPath): Promise<FoundObject | undefined>;
  /**
   * Replaces the object atomically when `body` has ended, if the conditions still hold. If `body` fails, rejects and
   * leaves the earlier object unchanged. May leave `body` unread.
   */
  put(bucket: string, path: ObjectPath, body: Readable, conditions: WriteConditions): Promise<PutOutcome>;
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
