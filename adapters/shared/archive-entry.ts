/** An entry as the tar reader gives it, in the words of the core's rule; the walk and the extraction read it alike. */
import type { ReadEntry } from "tar";
import type { ArchiveEntry } from "../../core/domain/archive.ts";

const types: Readonly<Record<string, ArchiveEntry["type"]>> = {
  File: "file",
  OldFile: "file",
  ContiguousFile: "file",
  Directory: "folder",
};

export const archiveEntryOf = ({ path, type, size }: ReadEntry): ArchiveEntry => ({
  path,
  type: types[type] ?? "other",
  // A pax header may claim any number.
  size: Number.isSafeInteger(size) ? size : Number.POSITIVE_INFINITY,
});
