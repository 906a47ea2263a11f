/**
 * Uploads an object in parts. The storage keeps complete parts, so a retry or a later `put` sends only the missing
 * ones.
 */
import type { UploadGrant } from "../../../core/domain/volumes/volume.ts";
import type { Client } from "../client.ts";
import { ApiError, ConnectionError } from "../errors.ts";
import { retry } from "./retry.ts";
import { completeUpload } from "./storage.ts";

/** An earlier version of the platform returns no `upload_id`, and its uploads cannot resume. */
type MultipartGrant = Extract<UploadGrant, { readonly parts: unknown }>;
export type PartsGrant = Pick<MultipartGrant, "complete_url"> & {
  readonly upload_id?: string | undefined;
  readonly parts: readonly Pick<MultipartGrant["parts"][number], "url" | "offset" | "length" | "etag">[];
};

const statusOf = (error: unknown): number | undefined => (error instanceof ApiError ? error.status : undefined);

/** A part of the data, in bytes. */
export interface Range {
  readonly offset: number;
  readonly length: number;
}

export interface ObjectAddress {
  readonly volume: string;
  readonly path: string;
}

/** Reports sent bytes; negative if they must be sent again. */
export type OnSent = (bytes: number) => void;

/** The data to upload. */
export interface UploadSource {
  /** In bytes; undefined if unknown. Data of unknown size can be sent only once. */
  readonly size: number | undefined;
  /**
   * Sends the data, or a part of it, with one PUT, and reports the bytes as they are sent. Resolves to the number of
   * bytes and the entity tag. Throws an `ApiError` or a `ConnectionError` if the storage did not store the bytes.
   */
  readonly send: (
    url: string,
    range: Range | undefined,
    signal: AbortSignal,
  ) => Promise<{ readonly sent: number; readonly tag: string }>;
}

/** Checks whether a completion without a response succeeded: returns true if the object has this size. */
const isStored = async (client: Client, { volume, path }: ObjectAddress, size: number, signal: AbortSignal) => {
  const { objects } = await client.listObjects({ volume, prefix: path, limit: 1 }, { signal });
  return objects[0]?.path === path && objects[0].size === size;
};

export class PartsUpload {
  readonly #client: Client;
  readonly #address: ObjectAddress;
  readonly #source: UploadSource;
  readonly #size: number;
  readonly #onSent: OnSent;
  #grant: PartsGrant;
  #expired = false;
  #gone = false;
  /** True if the storage had every part at the start. An earlier run may then have ended during the completion. */
  readonly #wasWhole: boolean;
  /** The tags of the stored parts, by index. */
  readonly #tags = new Map<number, string>();

  constructor(client: Client, address: ObjectAddress, source: UploadSource, grant: PartsGrant, onSent: OnSent) {
    this.#client = client;
    this.#address = address;
    this.#source = source;
    this.#size = source.size ?? 0;
    this.#onSent = onSent;
    this.#grant = grant;
    for (const [index, { etag, length }] of grant.parts.entries())
      if (etag !== undefined) this.#store(index, etag, length);
    this.#wasWhole = this.#tags.size === grant.parts.length;
  }

  /** The number of parts that the storage has. */
  get done(): number {
    return this.#tags.size;
  }

  /** True if the URLs have expired and cannot be renewed. The caller must start a new upload. */
  get isLost(): boolean {
    return this.#expired && this.#grant.upload_id === undefined;
  }

  /**
   * True if the storage no longer has the upload, or has parts that this run did not send. Another run may have
   * completed the upload or sent its parts again. The caller must start a new upload.
   */
  get isGone(): boolean {
    return this.#gone;
  }

  /**
   * Sends the missing parts, each with its own retries. Then completes the upload, which creates the object. If the
   * URLs expire after at least one part was stored, continues with new URLs.
   */
  async send(signal: AbortSignal): Promise<number> {
    for (;;) {
      const { done } = this;
      await this.#renew(signal);
      try {
        return await this.#sendMissing(signal);
      } catch (error) {
        if (!this.#expired || this.isLost || this.done === done) throw error;
      }
    }
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { upload_id } = this.#grant;
    if (!this.#expired || upload_id === undefined) return;
    try {
      this.#grant = await this.#client.resumeUpload({ upload_id }, { signal });
    } catch (error) {
      this.#gone = statusOf(error) === 404;
      throw error;
    }
    this.#expired = false;
  }

  async #sendMissing(signal: AbortSignal): Promise<number> {
    try {
      for (const [index, { url, ...range }] of this.#grant.parts.entries()) {
        if (this.#tags.has(index)) continue;
        const { tag, sent } = await retry(signal, () => this.#source.send(url, range, signal));
        // `send` has already reported these bytes.
        this.#store(index, tag, sent, false);
      }
      await this.#complete(signal);
      return this.#size;
    } catch (error) {
      this.#expired = statusOf(error) === 403;
      this.#gone ||= statusOf(error) === 404;
      throw error;
    }
  }

  /** Subtracts the sent bytes from the progress. */
  discard(): void {
    const lengths = [...this.#tags.keys()].map((index) => this.#grant.parts[index]?.length ?? 0);
    this.#onSent(-lengths.reduce((sum, one) => sum + one, 0));
    this.#tags.clear();
  }

  #store(index: number, tag: string, length: number, reports = true): void {
    this.#tags.set(index, tag);
    if (reports) this.#onSent(length);
  }

  async #complete(signal: AbortSignal): Promise<void> {
    const tags = this.#grant.parts.map((_, index) => this.#tags.get(index) ?? "");
    let mayBeComplete = this.#wasWhole;
    await retry(signal, async () => {
      try {
        await completeUpload(this.#grant.complete_url, tags, signal);
      } catch (error) {
        // An earlier request may have completed the upload even though its response was lost.
        const mayBeStored = mayBeComplete && statusOf(error) === 404;
        if (mayBeStored && (await isStored(this.#client, this.#address, this.#size, signal))) return;
        // 400: a part has a different tag, or does not exist.
        this.#gone = statusOf(error) === 400;
        mayBeComplete ||= error instanceof ConnectionError;
        throw error;
      }
    });
  }
}
