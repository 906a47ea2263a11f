/** Does a source bring its own Dockerfile? Reads the names in the archive, which was walked and found safe before. */
import type { Source } from "../../core/ports/source-spool.ts";
import { TarReader } from "./tar/reader.ts";
import { unpackedBytes } from "./tar/unpacked.ts";

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
  for await (const chunk of unpackedBytes(source, signal)) {
    tar.write(chunk);
    if (found) return true;
  }
  return found;
};
