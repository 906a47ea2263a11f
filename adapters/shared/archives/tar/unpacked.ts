/** Returns the decompressed bytes of a source's archive. The iteration throws if reading or decompressing fails. */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import type { Source } from "../../../../core/ports/source-spool.ts";

export const unpackedBytes = (source: Source, signal: AbortSignal): AsyncIterable<Buffer> => {
  const unpacked = createGunzip();
  pipeline(Readable.from(source.open()), unpacked, { signal }).catch(() => undefined);
  return unpacked as AsyncIterable<Buffer>;
};
