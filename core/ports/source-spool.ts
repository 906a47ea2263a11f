/** Port for uploaded sources. The spool validates an archive as it arrives and stores it until the build has ended. */
import type { Issue } from "../domain/wire/issue.ts";
import type { Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

/** A complete and valid source archive. */
export interface Source {
  /** `sha256:` and the hexadecimal digest of the archive's bytes. */
  readonly digest: string;
  /** The size of the archive in bytes. */
  readonly bytes: number;
  /**
   * Returns the archive's bytes from the start. May be called several times, but not after `discard`. The iteration
   * throws if reading fails.
   */
  open(): AsyncIterable<Uint8Array>;
  /** Deletes the stored archive. May be called several times. Must not reject. */
  discard(): Promise<void>;
}

/** The result of receiving an archive. */
export type ReceivedSource =
  /** The archive is valid and stored. The caller must `discard` the source when it is no longer needed. */
  | { readonly kind: "accepted"; readonly source: Source }
  /** The archive is invalid and nothing is stored. */
  | { readonly kind: "rejected"; readonly issues: readonly Issue[] };

/** Options of `SourceSpool.receive`. */
export interface ReceiveOptions extends CallOptions {
  /** Maximum size of the archive in bytes. Defaults to the limit of an upload, 100 MiB. */
  readonly fileBytes?: number;
}

/** Stores uploaded sources. */
export interface SourceSpool {
  /**
   * Receives, validates and stores an archive. Must use bounded memory for archives of any size.
   *
   * Returns `rejected` as soon as the archive breaks a rule, without reading the rest of `bytes`. The issue has the
   * type `too_large` or `archive_invalid`, and its message names the invalid entry, if any. Fails with `unavailable` if
   * no space is left or if `bytes` throws; must then store nothing.
   */
  receive(bytes: AsyncIterable<Uint8Array>, options?: ReceiveOptions): ResultAsync<ReceivedSource, Unavailable>;
}
