/** Walks an archive like an upload, whole or in pieces of any size. */
import { ArchiveWalk } from "../../../adapters/shared/archives/archive-walk.ts";
import { type ArchiveLimits, archiveLimits } from "../../../core/domain/accounts/limits.ts";
import { bytesOf } from "./archives.ts";

/** The issue of the archive; undefined if it is valid. */
export const walkArchive = async (
  archive: Uint8Array,
  { limits = archiveLimits, piece = 64 * 1024 }: { limits?: ArchiveLimits; piece?: number } = {},
): Promise<string | undefined> => {
  const walk = new ArchiveWalk(limits);
  try {
    for await (const chunk of bytesOf(archive, piece)) await walk.write(chunk);
    await walk.end();
    return walk.problem;
  } finally {
    walk.close();
  }
};
