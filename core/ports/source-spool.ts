/** Where an uploaded source waits while it is checked and until it is built. */
import type { Issue } from "../domain/issue.ts";
import type { Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

/** A source archive that was received whole and walked from end to end. */
export interface Source {
  /** `sha256:` and the hexadecimal digest of the archive's bytes. */
  readonly digest: string;
  readonly bytes: number;
  /** The archive's bytes from the start; may be called more than once until `discard`. */
  open(): AsyncIterable<Uint8Array>;
  /** Frees what it takes. Calling it again does nothing. */
  discard(): Promise<void>;
}

export type ReceivedSource =
  | { readonly kind: "kept"; readonly source: Source }
  /** Nothing of it was kept. */
  | { readonly kind: "refused"; readonly issues: readonly Issue[] };

export interface ReceiveOptions extends CallOptions {
  /** Most bytes of the archive itself; absent: those of an upload. */
  readonly fileBytes?: number;
}

export interface SourceSpool {
  /**
   * Receives an archive in bounded memory and walks it meanwhile (contract 4.1).
   *
   * Refused, with `too_large` or `archive_invalid` and the entry named, as soon as that is known; the rest of
   * `bytes` is then not read. `unavailable`: there was no room, or `bytes` itself failed; nothing is kept.
   */
  receive(bytes: AsyncIterable<Uint8Array>, options?: ReceiveOptions): ResultAsync<ReceivedSource, Unavailable>;
}
