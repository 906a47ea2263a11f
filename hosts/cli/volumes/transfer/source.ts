/** Sources of uploads, and the PUT of a whole source. Streams the bytes, so the size does not affect the memory use. */

import type { OnSent, Range, UploadSource } from "../../../client/storage/parts-upload.ts";
import { expectStatus } from "../../../client/storage/storage.ts";
import { CommandError } from "../../terminal/io.ts";
import { putToStorage } from "./storage-put.ts";

export interface Source {
  readonly name: string;
  /** In bytes; undefined if unknown. A source of unknown size can be read only once. */
  readonly size: number | undefined;
  /** Identifies the file and its version. Absent for a source that a later `put` cannot read again. */
  readonly version?: readonly string[];
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

const encoder = new TextEncoder();

/** Sends a source with one PUT. Resolves to the number of bytes and the entity tag. */
const sendWhole = async (url: string, source: Source, signal: AbortSignal, onSent: OnSent) => {
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

/** Returns a source for an upload, which reports the bytes that it sends. */
export const uploadSource = (source: Source, onSent: OnSent): UploadSource => ({
  size: source.size,
  send: (url, range, signal) => {
    const part = range && { name: source.name, size: range.length, open: () => source.open(range) };
    return sendWhole(url, part ?? source, signal, onSent);
  },
});
