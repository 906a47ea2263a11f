/** Does a source bring its own Dockerfile? Reads the names in the archive, which was walked and found safe before. */
import { Parser } from "tar";
import type { Source } from "../../core/ports/source-spool.ts";

/** The names at the top, without a leading `./`. */
const isTopDockerfile = (path: string): boolean => path.replace(/^(\.\/)+/, "") === "Dockerfile";

export const hasDockerfile = async (source: Source, signal: AbortSignal): Promise<boolean> => {
  let found = false;
  const parser = new Parser({
    onReadEntry: (entry) => {
      found ||= isTopDockerfile(entry.path);
      entry.resume();
    },
  });
  for await (const chunk of source.open()) {
    signal.throwIfAborted();
    if (found) return true;
    if (!parser.write(Buffer.from(chunk))) await new Promise((resolve) => parser.once("drain", resolve));
  }
  await new Promise<void>((resolve) => parser.once("end", () => resolve()).end());
  return found;
};
