/**
 * Remembers the ids of uploads that a later `put` may resume, in the user's cache. An id grants nothing without an API
 * key. Each id has a file, whose name identifies the platform, the object, and the version of the local file. If the
 * local file changes, `put` therefore starts a new upload.
 */
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { uploadHours } from "../../../../core/domain/accounts/limits.ts";
import type { UploadJournal } from "../../../client/storage/upload.ts";

const cacheFolder = (env: NodeJS.ProcessEnv): string =>
  join(env["XDG_CACHE_HOME"] || join(env["HOME"] || homedir(), ".cache"), "portside", "uploads");

/** Deletes the ids of expired uploads. */
const sweep = async (folder: string): Promise<void> => {
  const oldest = Date.now() - uploadHours * 3_600_000;
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined && found.mtimeMs < oldest) await rm(path, { force: true });
  }
};

/** @param key identifies the platform, the object, and the version of the local file */
export const openJournal = (env: NodeJS.ProcessEnv, key: readonly string[]): UploadJournal => {
  const folder = cacheFolder(env);
  const path = join(folder, createHash("sha256").update(JSON.stringify(key)).digest("hex").slice(0, 32));
  return {
    read: async () => (await readFile(path, "utf8").catch(() => "")).trim() || undefined,
    write: async (id) => {
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await sweep(folder);
        await writeFile(path, id, { mode: 0o600 });
      } catch {
        // A read-only home folder does not prevent an upload.
      }
    },
    clear: () => rm(path, { force: true }).catch(() => undefined),
  };
};
