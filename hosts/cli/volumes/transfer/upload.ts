/** Uploads an object to a volume. Streams it with its length, so that a large object needs no memory. */
import type { UploadGrant } from "../../../../core/domain/volumes/volume.ts";
import { ApiError, type Client } from "../../client.ts";
import { CommandError } from "../../terminal/io.ts";
import { retry } from "./retry.ts";
import { complete, expectStatus, withGrant } from "./storage.ts";
import { putToStorage } from "./storage-put.ts";

/** In bytes. */
export interface Range {
  readonly offset: number;
  readonly length: number;
}

export interface Source {
  readonly name: string;
  /** In bytes; undefined if unknown. A source of unknown size can be read only once. */
  readonly size: number | undefined;
  /** @param range only for sources of known size */
  open(range?: Range): AsyncIterable<Uint8Array | string>;
}

export interface ObjectAddress {
  readonly volume: string;
  readonly path: string;
}

const encoder = new TextEncoder();

/** Reads a source for a request and records read errors: the request itself only reports a broken connection. */
class Reading {
  sent = 0;
  problem: CommandError | undefined;
  readonly #source: Source;
  readonly #onSent: (bytes: number) => void;

  constructor(source: Source, onSent: (bytes: number) => void) {
    this.#source = source;
    this.#onSent = onSent;
  }

  /** Throws if the source is shorter than the declared length: the request would wait for the rest. */
  async *bytes(): AsyncGenerator<Uint8Array> {
    const { name, size } = this.#source;
    try {
      for await (const piece of this.#source.open()) {
        const bytes = typeof piece === "string" ? encoder.encode(piece) : piece;
        yield bytes;
        this.sent += bytes.length;
        this.#onSent(bytes.length);
      }
      if (size !== undefined && this.sent < size) throw new Error("it became shorter during the upload");
    } catch (error) {
      const why = (error as Error).message;
      this.problem = new CommandError(`Cannot read '${name}': ${why}. The volume is unchanged.`);
      throw error;
    }
  }
}

type OnSent = (bytes: number) => void;

const send = async (url: string, source: Source, signal: AbortSignal, onSent: OnSent) => {
  const reading = new Reading(source, onSent);
  const headers: Record<string, string> = source.size === undefined ? {} : { "content-length": String(source.size) };
  try {
    const answer = await putToStorage(url, { headers, body: reading.bytes(), signal });
    await expectStatus(answer, 200, 201, 204);
    return { sent: reading.sent, tag: answer.headers.get("etag") ?? "" };
  } catch (error) {
    onSent(-reading.sent);
    throw signal.aborted ? error : (reading.problem ?? error);
  }
};

type Parts = Extract<UploadGrant, { readonly parts: unknown }>;

const requestGrant = (
  client: Client,
  { volume, path }: ObjectAddress,
  { size }: Source,
  signal: AbortSignal,
): Promise<UploadGrant> => client.call("/v1/volume/upload", { json: { volume, object: path, size }, signal });

/** One part as a separate source. */
const partOf = (source: Source, range: Range): Source => ({
  name: source.name,
  size: range.length,
  open: () => source.open(range),
});

/** An upload in parts. The storage keeps the parts that it has, so another try sends only the missing ones. */
class PartsUpload {
  readonly grant: Parts;
  readonly #source: Source;
  readonly #onSent: OnSent;
  readonly #tags: string[] = [];
  #sent = 0;

  constructor(grant: Parts, source: Source, onSent: OnSent) {
    this.grant = grant;
    this.#source = source;
    this.#onSent = onSent;
  }

  /** The number of parts that the storage has. */
  get done(): number {
    return this.#tags.length;
  }

  /** Retries each part separately. The storage creates the object after the last part. */
  async send(signal: AbortSignal): Promise<{ readonly sent: number }> {
    const { parts, complete_url } = this.grant;
    for (const { url, ...range } of parts.slice(this.done)) {
      const { sent, tag } = await retry(signal, () => send(url, partOf(this.#source, range), signal, this.#onSent));
      this.#sent += sent;
      this.#tags.push(tag);
    }
    await retry(signal, () => complete(complete_url, this.#tags, signal));
    return { sent: this.#sent };
  }

  /** Subtracts the sent bytes from the progress. */
  discard(): void {
    this.#onSent(-this.#sent);
  }
}

/**
 * Uploads the whole source or nothing. Resolves to its size in bytes. Retries after a broken connection, from the start
 * of the source or of the first missing part.
 */
export const uploadObject = async (
  client: Client,
  address: ObjectAddress,
  source: Source,
  signal: AbortSignal,
  onSent: OnSent,
): Promise<number> => {
  let begun: PartsUpload | undefined;
  const discard = () => {
    begun?.discard();
    begun = undefined;
  };
  const use = async (grant: UploadGrant) => {
    if (!("parts" in grant)) return send(grant.url, source, signal, onSent);
    begun ??= new PartsUpload(grant, source, onSent);
    try {
      return await begun.send(signal);
    } catch (error) {
      // The URLs have expired. The next grant starts another upload.
      if (error instanceof ApiError && error.status === 403) discard();
      throw error;
    }
  };
  const granted = async () => begun?.grant ?? requestGrant(client, address, source, signal);
  try {
    // A source of unknown size can be read only once, so it cannot be retried.
    const { sent } = await (source.size === undefined
      ? granted().then(use)
      : retry(
          signal,
          () => withGrant(granted, use),
          () => begun?.done ?? 0,
        ));
    return sent;
  } catch (error) {
    discard();
    throw error;
  }
};
