/** Port for uploaded sources: validates them on arrival and stores them until their build. */
import type { Issue } from "../domain/wire/issue.ts";
import type { Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

/** A source archive that was received completely and is valid. */
export interface Source {
  /** `sha256:` and the hexadecimal digest of the archive's bytes. */
  readonly digest: string;
  readonly bytes: number;
  /** Returns the archive's bytes from the start. May be called several times before `discard`. */
  open(): AsyncIterable<Uint8Array>;
  /** Deletes the stored archive. Idempotent. */
  discard(): Promise<void>;
}

export type ReceivedSource =
  | { readonly kind: "kept"; readonly source: Source }
  /** The archive is invalid. Nothing of it is stored. */
  | { readonly kind: "refused"; readonly issues: readonly Issue[] };

export interface ReceiveOptions extends CallOptions {
  /** Maximum bytes of the archive. Absent: the limit of an upload. */
  readonly fileBytes?: number;
}

export interface SourceSpool {
  /**
   * Receives and validates an archive, in bounded memory.
   *
   * Returns `refused`, with `too_large` or `archive_invalid` and the name of the entry, as soon as the archive is known to
   * be invalid; the rest of `bytes` is not read. Fails with `unavailable` if there is no space or `bytes` throws; nothing
   * is stored then.
   */
  receive(bytes: AsyncIterable<Uint8Array>, options?: ReceiveOptions): ResultAsync<ReceivedSource, Unavailable>;
}
