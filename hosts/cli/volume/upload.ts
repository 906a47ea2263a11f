/** One object on its way into a volume: streamed with its length, so that no size takes memory. */
import type { UploadGrant } from "../../../core/domain/volume.ts";
import type { Client } from "../client.ts";
import { CommandError } from "../io.ts";
import { persist } from "./persist.ts";
import { expectStatus, withGrant } from "./storage.ts";
import { putToStorage } from "./storage-put.ts";

export interface Source {
  readonly name: string;
  /** Undefined where it ends when it ends; such a source can be read once. */
  readonly size: number | undefined;
  open(): AsyncIterable<Uint8Array | string>;
}

export interface Place {
  readonly volume: string;
  readonly path: string;
}

const encoder = new TextEncoder();

/** Reads a source on behalf of a request, and remembers why it could not be read: the request says only that it broke. */
class Reading {
  sent = 0;
  problem: CommandError | undefined;
  readonly #source: Source;
  readonly #onSent: (bytes: number) => void;

  constructor(source: Source, onSent: (bytes: number) => void) {
    this.#source = source;
    this.#onSent = onSent;
  }

  /** Throws where there is less than the request has promised: it would wait for the rest. */
  async *bytes(): AsyncGenerator<Uint8Array> {
    const { name, size } = this.#source;
    try {
      for await (const piece of this.#source.open()) {
        const bytes = typeof piece === "string" ? encoder.encode(piece) : piece;
        yield bytes;
        this.sent += bytes.length;
        this.#onSent(bytes.length);
      }
      if (size !== undefined && this.sent < size) throw new Error("it became shorter meanwhile");
    } catch (error) {
      const why = (error as Error).message;
      this.problem = new CommandError(`'${name}' cannot be read: ${why}. The volume has what it had before.`);
      throw error;
    }
  }
}

const send = async (url: string, source: Source, signal: AbortSignal, onSent: (bytes: number) => void) => {
  const reading = new Reading(source, onSent);
  const headers: Record<string, string> = source.size === undefined ? {} : { "content-length": String(source.size) };
  try {
    await expectStatus(await putToStorage(url, { headers, body: reading.bytes(), signal }), 200, 201, 204);
    return reading.sent;
  } catch (error) {
    onSent(-reading.sent);
    throw signal.aborted ? error : (reading.problem ?? error);
  }
};

const askUrl = async (client: Client, { volume, path }: Place, source: Source, signal: AbortSignal) => {
  const size = source.size === undefined ? {} : { size: source.size };
  const json = { volume, object: path, ...size };
  const grant = await client.call<UploadGrant | { readonly parts: unknown }>("/v1/volume/upload", { json, signal });
  if ("url" in grant) return grant;
  throw new CommandError(
    `'${source.name}' is larger than this platform takes in one piece, and this version of portside cannot send it in parts.`,
  );
};

/** Puts the source there, whole or not at all; resolves to its bytes. A broken connection is tried again from the start. */
export const uploadObject = (
  client: Client,
  place: Place,
  source: Source,
  signal: AbortSignal,
  onSent: (bytes: number) => void,
): Promise<number> => {
  const ask = () => askUrl(client, place, source, signal);
  // What can be read once has been read by the time that anything fails.
  if (source.size === undefined) return ask().then(({ url }) => send(url, source, signal, onSent));
  return persist(signal, () => withGrant(ask, ({ url }) => send(url, source, signal, onSent)));
};
