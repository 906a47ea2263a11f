/** Does a source bring its own Dockerfile? Reads the names in the archive, which was walked and found safe before. */
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import type { Source } from "../../core/ports/source-spool.ts";
import { TarReader } from "./tar/reader.ts";

/** The names at the top, without a leading `./`. */
const isTopDockerfile = (path: string): boolean => path.replace(/^(\.\/)+/, "") === "Dockerfile";

export const hasDockerfile = async (source: Source, signal: AbortSignal): Promise<boolean> => {
  let found = false;
  const tar = new TarReader({
    entry: ({ path }) => {
      found ||= isTopDockerfile(path);
    },
    content: () => undefined,
  });
  const unpacked = createGunzip();
  // What fails is thrown by the loop below.
  pipeline(Readable.from(source.open()), unpacked, { signal }).catch(() => undefined);
  for await (const chunk of unpacked as AsyncIterable<Buffer>) {
    tar.write(chunk);
    if (found) return true;
  }
  return found;
};
