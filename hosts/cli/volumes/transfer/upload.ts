/** Uploads an object to a volume. Streams the bytes, so that memory use does not depend on the size. */
import type { UploadGrant } from "../../../../core/domain/volumes/volume.ts";
import type { Client } from "../../../client/client.ts";
import { ApiError } from "../../../client/errors.ts";
import { CommandError } from "../../terminal/io.ts";
import { retry } from "./retry.ts";
import { complete, expectStatus, withGrant } from "./storage.ts";
import { putToStorage } from "./storage-put.ts";

/** A part of a source, in bytes. */
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

export interface SizedSource extends Source {
  readonly size: number;
}

/** An object to upload. */
export interface PlannedUpload {
  readonly path: string;
  readonly source: Source;
}

export interface ObjectAddress {
  readonly volume: string;
  readonly path: string;
}

const encoder = new TextEncoder();

type OnSent = (bytes: number) => void;

const send = async (url: string, source: Source, signal: AbortSignal, onSent: OnSent) => {
  const { name, size } = source;
  let sent = 0;
  // Stored separately, because the request would report a read error as a broken connection.
  let problem: CommandError | undefined;
  async function* body(): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of source.open()) {
        const bytes = typeof piece === "string" ? encoder.encode(piece) : piece;
        yield bytes;
        sent += bytes.length;
        onSent(bytes.length);
      }
      // Without an error, the request would wait for the remaining bytes.
      if (size !== undefined && sent < size) throw new Error("it became shorter during the upload");
    } catch (error) {
      problem = new CommandError(`Cannot read '${name}': ${(error as Error).message}. The volume is unchanged.`);
      throw error;
    }
  }
  const headers: Record<string, string> = size === undefined ? {} : { "content-length": String(size) };
  try {
    const response = await putToStorage(url, { headers, body: body(), signal });
    await expectStatus(response, 200, 201, 204);
    return { sent, tag: response.headers.get("etag") ?? "" };
  } catch (error) {
    onSent(-sent);
    throw signal.aborted ? error : (problem ?? error);
  }
};

type Parts = Extract<UploadGrant, { readonly parts: unknown }>;

const requestGrant = (
  client: Client,
  { volume, path }: ObjectAddress,
  { size }: Source,
  signal: AbortSignal,
): Promise<UploadGrant> => client.grantUpload({ volume, object: path, size }, { signal });

/** Returns one part as a separate source. */
const partOf = (source: Source, range: Range): Source => ({
  name: source.name,
  size: range.length,
  open: () => source.open(range),
});

/** Returns an upload in parts. The storage keeps complete parts, so a retry sends only the missing ones. */
const partsUpload = (grant: Parts, source: Source, onSent: OnSent) => {
  const tags: string[] = [];
  let sent = 0;
  return {
    grant,
    /** Returns the number of parts that the storage has. */
    done: () => tags.length,
    /** Sends the missing parts, each with its own retries. Then completes the upload, which creates the object. */
    send: async (signal: AbortSignal) => {
      for (const { url, ...range } of grant.parts.slice(tags.length)) {
        const part = await retry(signal, () => send(url, partOf(source, range), signal, onSent));
        sent += part.sent;
        tags.push(part.tag);
      }
      await retry(signal, () => complete(grant.complete_url, tags, signal));
      return { sent };
    },
    /** Subtracts the sent bytes from the progress. */
    discard: () => onSent(-sent),
  };
};

/**
 * Uploads the whole source or nothing. Resolves to its size in bytes. After a temporary error, retries from the start
 * of the source or from the first missing part. Does not retry a source of unknown size, because it can be read only
 * once.
 */
export const uploadObject = async (
  client: Client,
  address: ObjectAddress,
  source: Source,
  signal: AbortSignal,
  onSent: OnSent,
): Promise<number> => {
  let begun: ReturnType<typeof partsUpload> | undefined;
  const discard = () => {
    begun?.discard();
    begun = undefined;
  };
  const use = async (grant: UploadGrant) => {
    if (!("parts" in grant)) return send(grant.url, source, signal, onSent);
    begun ??= partsUpload(grant, source, onSent);
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
    const { sent } = await (source.size === undefined
      ? granted().then(use)
      : retry(
          signal,
          () => withGrant(granted, use),
          () => begun?.done() ?? 0,
        ));
    return sent;
  } catch (error) {
    discard();
    throw error;
  }
};
