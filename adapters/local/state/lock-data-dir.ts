/** Ensures that only one server uses a data folder at a time. */
import { truncateSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../../core/ports/system.ts";
import { DataFolderError, explainFileError, isBusy, isDamage } from "../data-folder/data-folder-error.ts";
import { openDatabase, openDataFolder } from "../data-folder/layout.ts";

const acquireLock = (path: string): DatabaseSync => {
  const lock = openDatabase(path, { timeout: 0 });
  try {
    lock.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;");
    return lock;
  } catch (error) {
    lock.close();
    throw error;
  }
};

const acquireRepairedLock = (path: string, logger: Logger | undefined): DatabaseSync => {
  try {
    return acquireLock(path);
  } catch (error) {
    if (!isDamage(error)) throw error;
    // Do not replace the file: another server's lock belongs to the file and not to its path.
    truncateSync(path);
    logger?.warn("emptied the damaged lock file; nothing was lost", { path });
    return acquireLock(path);
  }
};

/** Prevents the garbage collection of connections, which would release their locks. */
const held = new Set<DatabaseSync>();

export interface Lock extends Disposable {
  release(): void;
}

export const LOCK_FILE = "lock.sqlite";

/**
 * Locks the folder until `release` is called or this process ends. Throws a `DataFolderError` of kind `in_use` with the
 * message `inUse` if another process holds the lock.
 */
export const lockFolder = (folder: string, inUse: string, logger?: Logger): Lock => {
  const path = join(folder, LOCK_FILE);
  try {
    const lock = acquireRepairedLock(path, logger);
    held.add(lock);
    const release = () => {
      held.delete(lock);
      lock.close();
    };
    return { release, [Symbol.dispose]: release };
  } catch (error) {
    if (!isBusy(error)) throw explainFileError(error, path) ?? error;
    throw new DataFolderError("in_use", folder, inUse);
  }
};

/**
 * Makes this process the only server of a data folder. Throws a `DataFolderError` of kind `in_use` if another server
 * uses the folder.
 */
export const lockDataDir = (dataDir: string, logger?: Logger): Lock => {
  openDataFolder(dataDir, logger);
  const inUse = `Another Portside server uses the data folder ${dataDir}. Stop it, or choose another folder with --data-dir.`;
  return lockFolder(dataDir, inUse, logger);
};

/** The maximum time that a server needs to end after its engine was killed. */
const SERVER_END_MS = 10_000;
const RETRY_MS = 50;

/**
 * Makes this process the only one that writes the state. Waits until a server whose engine was killed has ended. Throws
 * a `DataFolderError` of kind `in_use` if that server does not end in time.
 */
export const lockServer = async (dataDir: string, logger: Logger): Promise<Lock> => {
  const inUse = `The API server of an earlier Portside still uses the data folder ${dataDir}. Stop it.`;
  for (const ends = Date.now() + SERVER_END_MS; ; await sleep(RETRY_MS))
    try {
      return lockFolder(join(dataDir, "engine"), inUse, logger);
    } catch (error) {
      const isHeld = error instanceof DataFolderError && error.kind === "in_use";
      if (!isHeld || Date.now() > ends) throw error;
    }
};
