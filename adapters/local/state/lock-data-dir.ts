/**
 * Ensures that only one engine uses a data folder at a time. A second lock, the start lock, serializes starts. Every
 * engine takes the start lock, then the folder's lock, and then releases the start lock. An engine that starts during
 * an upgrade holds the start lock until the previous engine releases the folder's lock, so no other process can lock
 * the folder in between.
 */
import { existsSync, truncateSync } from "node:fs";
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

/** Keeps the connections reachable. Garbage collection of a connection would release its lock. */
const held = new Set<DatabaseSync>();

export interface Lock extends Disposable {
  release(): void;
}

export const LOCK_FILE = "lock.sqlite";
const START_LOCK_FILE = "start-lock.sqlite";

const RETRY_MS = 5;

/** Locks the file until `release` is called or this process ends. Returns undefined if the file is locked. */
const tryLockFile = (path: string, logger: Logger | undefined): Lock | undefined => {
  try {
    const lock = acquireRepairedLock(path, logger);
    held.add(lock);
    const release = () => {
      if (held.delete(lock)) lock.close();
    };
    return { release, [Symbol.dispose]: release };
  } catch (error) {
    if (!isBusy(error)) throw explainFileError(error, path) ?? error;
    return undefined;
  }
};

const lockFile = (path: string, inUse: DataFolderError, logger: Logger | undefined): Lock => {
  const lock = tryLockFile(path, logger);
  if (lock === undefined) throw inUse;
  return lock;
};

/** Retries until it has locked the file. Throws `inUse` after `timeoutMs`. */
const awaitFileLock = async (
  path: string,
  inUse: DataFolderError,
  timeoutMs: number,
  logger: Logger | undefined,
): Promise<Lock> => {
  for (const ends = performance.now() + timeoutMs; ; await sleep(RETRY_MS)) {
    const lock = tryLockFile(path, logger);
    if (lock !== undefined) return lock;
    if (performance.now() >= ends) throw inUse;
  }
};

/**
 * Locks the folder until `release` is called or this process ends. Throws a `DataFolderError` of kind `in_use` with
 * `message` if the folder is locked.
 */
export const lockFolder = (folder: string, message: string, logger?: Logger): Lock =>
  lockFile(join(folder, LOCK_FILE), new DataFolderError("in_use", folder, message), logger);

const usedByServer = (dataDir: string): DataFolderError =>
  new DataFolderError(
    "in_use",
    dataDir,
    `Another Portside server uses the data folder ${dataDir}. Stop it, or choose another folder with --data-dir.`,
  );

/**
 * Makes this process the only server of a data folder. Throws a `DataFolderError` of kind `in_use` if another server
 * uses the folder or is starting.
 */
export const lockDataDir = (dataDir: string, logger?: Logger): Lock => {
  openDataFolder(dataDir, logger);
  const inUse = usedByServer(dataDir);
  using _start = lockFile(join(dataDir, START_LOCK_FILE), inUse, logger);
  return lockFile(join(dataDir, LOCK_FILE), inUse, logger);
};

/**
 * Locks a folder that no server uses, without creating files in it. Returns undefined if the folder has never been
 * locked. Throws a `DataFolderError` of kind `in_use` with `message` if a server uses the folder or is starting.
 */
export const lockUnusedFolder = (folder: string, message: string): Lock | undefined => {
  const [startLock, lock] = [join(folder, START_LOCK_FILE), join(folder, LOCK_FILE)];
  const inUse = new DataFolderError("in_use", folder, message);
  using _start = existsSync(startLock) ? lockFile(startLock, inUse, undefined) : undefined;
  return existsSync(lock) ? lockFile(lock, inUse, undefined) : undefined;
};

/** The right to take over a data folder from the server that uses it. Until `release`, no other process can start. */
export interface Takeover extends Lock {
  /**
   * Waits until the other server releases the folder, locks the folder and releases the start lock. Throws a
   * `DataFolderError` of kind `in_use` after `timeoutMs`; the start lock is then still held.
   */
  lockDataDir(timeoutMs: number): Promise<Lock>;
}

/** How long another starting process may hold the start lock until it finds that the folder is in use. */
const START_MS = 2000;

/**
 * Takes the start lock of a data folder that another server uses. Throws a `DataFolderError` of kind `in_use` if
 * another process is already starting.
 */
export const beginTakeover = async (dataDir: string, logger?: Logger): Promise<Takeover> => {
  openDataFolder(dataDir, logger);
  const inUse = usedByServer(dataDir);
  const start = await awaitFileLock(join(dataDir, START_LOCK_FILE), inUse, START_MS, logger);
  return {
    ...start,
    lockDataDir: async (timeoutMs) => {
      const lock = await awaitFileLock(join(dataDir, LOCK_FILE), inUse, timeoutMs, logger);
      start.release();
      return lock;
    },
  };
};

/**
 * Locks a data folder again after this process has released it. Other processes may have tried to start in the
 * meantime. Throws a `DataFolderError` of kind `in_use` if one of them has taken the folder.
 */
export const relockDataDir = async (dataDir: string, timeoutMs: number, logger?: Logger): Promise<Lock> => {
  using takeover = await beginTakeover(dataDir, logger);
  return await takeover.lockDataDir(timeoutMs);
};

/** The maximum time that a server needs to end after its engine was killed. */
const SERVER_END_MS = 10_000;

/**
 * Makes this process the only one that writes the state. Waits until a server whose engine was killed has ended. Throws
 * a `DataFolderError` of kind `in_use` if that server does not end in time.
 */
export const lockServer = (dataDir: string, logger: Logger): Promise<Lock> => {
  const folder = join(dataDir, "engine");
  const message = `The API server of an earlier Portside still uses the data folder ${dataDir}. Stop it.`;
  const inUse = new DataFolderError("in_use", folder, message);
  return awaitFileLock(join(folder, LOCK_FILE), inUse, SERVER_END_MS, logger);
};
