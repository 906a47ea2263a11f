/** One server at a time uses a data folder. */
import { truncateSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Logger } from "../../../core/ports/system.ts";
import { DataFolderError, explainFileError, isBusy, isDamage } from "../data-folder/error.ts";
import { openDatabase, openDataFolder } from "../data-folder/layout.ts";

const takeLock = (path: string): DatabaseSync => {
  const lock = openDatabase(path, { timeout: 0 });
  try {
    lock.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;");
    return lock;
  } catch (error) {
    lock.close();
    throw error;
  }
};

/** Emptied and not replaced: a server that has locked it keeps its lock, which belongs to the file and not to the name. */
const emptyDamagedLock = (path: string, logger: Logger | undefined): DatabaseSync => {
  truncateSync(path);
  logger?.warn("emptied the damaged lock file; nothing was lost", { path });
  return takeLock(path);
};

/** Garbage collection closes a connection that nothing refers to, and gives up its lock. */
const held = new Set<DatabaseSync>();

export interface Lock {
  release(): void;
}

export const LOCK_FILE = "lock.sqlite";

/**
 * Locks the file in the folder until this process ends, however it ends.
 * Throws a `DataFolderError` of kind `in_use` and with these words if another process has locked it.
 */
export const lockFolder = (folder: string, inUse: string, logger?: Logger): Lock => {
  const path = join(folder, LOCK_FILE);
  const take = (): DatabaseSync => {
    try {
      return takeLock(path);
    } catch (error) {
      if (isDamage(error)) return emptyDamagedLock(path, logger);
      throw error;
    }
  };
  try {
    const lock = take();
    held.add(lock);
    return {
      release: () => {
        held.delete(lock);
        lock.close();
      },
    };
  } catch (error) {
    if (!isBusy(error)) throw explainFileError(error, path) ?? error;
    throw new DataFolderError("in_use", folder, inUse);
  }
};

/**
 * Makes this process the only server of a data folder.
 * Throws a `DataFolderError` of kind `in_use` if another server has it.
 */
export const lockDataDir = (dataDir: string, logger?: Logger): Lock => {
  openDataFolder(dataDir, logger);
  const inUse = `Another Portside server uses the data folder ${dataDir}; stop it, or choose another with --data-dir.`;
  return lockFolder(dataDir, inUse, logger);
};
