/** What the storage endpoint needs of the place where the bytes are. */
import type { Readable } from "node:stream";
import type { ObjectPath } from "../../../core/domain/volumes/object-path.ts";

export interface FoundObject {
  /** Bytes. */
  readonly size: number;
  /** A strong entity tag, quotes included: another for every content. */
  readonly etag: string;
  /** Milliseconds since 1970. */
  readonly modified: number;
  /** The bytes from `start` to `end`, both included. At most one of `bytes` and `close` is called, once. */
  bytes(start: number, end: number): Readable;
  close(): Promise<void>;
}

/** What an upload asks of the object that is there; `*` stands for any. */
export interface WriteConditions {
  readonly ifMatch: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

export type PutOutcome =
  | { readonly kind: "stored"; readonly etag: string; readonly created: boolean }
  | { readonly kind: "no_volume" }
  | { readonly kind: "condition_failed" }
  /** `other` cannot be there together with the object: one of them would be a file and a folder at once. */
  | { readonly kind: "in_the_way"; readonly other: string }
  /** Something else kept changing the folders on the way; the earlier object stays. */
  | { readonly kind: "busy"; readonly cause: unknown };

export interface ObjectBytes {
  /** Undefined: there is no such object. */
  find(bucket: string, path: ObjectPath): Promise<FoundObject | undefined>;
  /**
   * Replaces the object whole, once `body` has ended well and the conditions still hold; until then, and where `body`
   * fails (this rejects then), the earlier object stays. `body` may be left unread.
   */
  put(bucket: string, path: ObjectPath, body: Readable, conditions: WriteConditions): Promise<PutOutcome>;
}

const tagsOf = (header: string): string[] => header.split(",").map((tag) => tag.trim());

/**
 * Whether a write, or a read that names what it wants, may go on, given the tag of what is there (undefined for nothing).
 * https://www.rfc-editor.org/rfc/rfc9110#section-13.1
 */
export const conditionsHold = ({ ifMatch, ifNoneMatch }: WriteConditions, present: string | undefined): boolean => {
  if (ifMatch !== undefined && (present === undefined || !(ifMatch === "*" || tagsOf(ifMatch).includes(present))))
    return false;
  if (ifNoneMatch === undefined || present === undefined) return true;
  return ifNoneMatch !== "*" && !tagsOf(ifNoneMatch).some((tag) => tag.replace(/^W\//, "") === present);
};
