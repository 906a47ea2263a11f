/** Unpacks a source archive into an empty folder, by the same rule by which it was walked. */

import { randomUUID } from "node:crypto";
import { mkdir, rename } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { x as extract, type ReadEntry } from "tar";
import { admitEntry, emptyArchive } from "../../../core/domain/archive.ts";
import type { Source } from "../../../core/ports/source-spool.ts";
import { archiveEntryOf } from "../../shared/archive-entry.ts";
import { tarPieces } from "../../shared/tar-pieces.ts";

/** Set-user-id and its like are dropped; of the rest only "may be run" means anything here. */
const modeOf = (entry: ReadEntry, isFolder: boolean): number =>
  isFolder || ((entry.mode ?? 0) & 0o111) !== 0 ? 0o755 : 0o644;

/**
 * Throws where an entry is refused, though the walk let it pass: then the archive is not what was walked.
 * @param folder empty; filled when the result is there, and not before
 */
export const extractSource = async (source: Source, folder: string, signal: AbortSignal): Promise<void> => {
  // An unpacking that is ended goes on for a moment. In a place of its own it can be in nobody's way.
  const own = `${folder}.${randomUUID()}`;
  await mkdir(own);
  let use = emptyArchive;
  const refused = new AbortController();
  const unpack = extract({
    cwd: own,
    strict: true,
    preserveOwner: false,
    preservePaths: false,
    noMtime: true,
    umask: 0o022,
    dmode: 0o755,
    fmode: 0o644,
    filter: (_path, entry) => {
      if (refused.signal.aborted || !("type" in entry)) return false;
      const read = archiveEntryOf(entry);
      const verdict = admitEntry(use, read);
      if ("problem" in verdict) {
        refused.abort(new Error(verdict.problem));
        return false;
      }
      use = verdict.use;
      entry.mode = modeOf(entry, read.type === "folder");
      return true;
    },
  });
  // What it meets afterwards, when its folder is gone, concerns nobody.
  unpack.on("error", () => undefined);
  const ends = AbortSignal.any([signal, refused.signal]);
  await pipeline(Readable.from(source.open()), createGunzip(), tarPieces(), unpack, { signal: ends });
  await rename(own, folder);
};
