/** Unpacks a source archive into an empty folder, by the same rule by which it was walked. */

import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { x as extract } from "tar";
import { admitEntry, emptyArchive } from "../../../core/domain/archive.ts";
import type { Source } from "../../../core/ports/source-spool.ts";

const files = ["File", "OldFile", "ContiguousFile"];

/** Throws where an entry is refused, though the walk let it pass: then the archive is not what was walked. */
export const extractSource = async (source: Source, folder: string, signal: AbortSignal): Promise<void> => {
  let use = emptyArchive;
  const refused = new AbortController();
  const unpack = extract({
    cwd: folder,
    strict: true,
    preserveOwner: false,
    preservePaths: false,
    noMtime: true,
    umask: 0o022,
    dmode: 0o755,
    fmode: 0o644,
    filter: (path, entry) => {
      if (refused.signal.aborted || !("type" in entry)) return false;
      const type = files.includes(entry.type) ? "file" : entry.type === "Directory" ? "folder" : "other";
      const verdict = admitEntry(use, { path, type, size: entry.size });
      if ("problem" in verdict) {
        refused.abort(new Error(verdict.problem));
        return false;
      }
      use = verdict.use;
      // Set-user-id and its like are dropped; of the rest only "may be run" means anything here.
      entry.mode = ((entry.mode ?? 0) & 0o111) === 0 ? 0o644 : 0o755;
      return true;
    },
  });
  await pipeline(Readable.from(source.open()), unpack, { signal: AbortSignal.any([signal, refused.signal]) });
};
