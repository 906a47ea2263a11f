/**
 * A temporary folder for a backup or restore, next to its result. If the process is killed, the next attempt reuses and
 * then removes the folder. A lock prevents concurrent use.
 */
import { chmod, lstat, mkdir, readdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { LOCK_FILE, lockFolder } from "../state/lock-data-dir.ts";
import { codeOf } from "../tenant-files/folder.ts";
import { removeTree } from "../tenant-files/remove-tree.ts";
import { BackupError } from "./backup-error.ts";

export interface WorkFolder extends AsyncDisposable {
  readonly path: string;
}

/** Keeps the lock file, because a non-empty folder without a lock file counts as another program's folder. */
const clear = async (path: string): Promise<void> => {
  for (const name of await readdir(path)) if (!name.startsWith(LOCK_FILE)) await removeTree(join(path, name));
};

const make = async (path: string): Promise<void> => {
  try {
    await mkdir(path, { mode: 0o700 });
    await chmod(path, 0o700);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    const stats = await lstat(path);
    const isOwn = stats.isDirectory() && (process.geteuid === undefined || stats.uid === process.geteuid());
    const names = isOwn ? await readdir(path) : [];
    if (!isOwn || (names.length > 0 && !names.includes(LOCK_FILE)))
      throw new BackupError(
        path,
        `${path} exists and is not from an earlier attempt. Move it away and try again.`,
        error,
      );
    await chmod(path, 0o700);
  }
};

/** Throws a `DataFolderError` of kind `in_use` if another process uses the folder. */
export const openWorkFolder = async (path: string): Promise<WorkFolder> => {
  await make(path);
  const lock = lockFolder(path, `Another process uses ${path}. Wait until it ends and try again.`);
  await clear(path);
  return {
    path,
    [Symbol.asyncDispose]: async () => {
      await clear(path);
      lock.release();
      for (const name of await readdir(path)) await rm(join(path, name));
      await rmdir(path);
    },
  };
};
