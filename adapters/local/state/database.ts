/**
 * The engine's own state in one SQLite file: services, deploys, freed names, keys, settings, volumes,
 * schedules.
 * Every change is one transaction, flushed to disk, so that a kill at any moment leaves it before or after.
 */
import { truncateSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Logger } from "../../../core/ports/system.ts";
import { DataFolderError, explainFileError, isBusy, isDamage } from "../data-folder/error.ts";
import { openDatabase, openDataFolder } from "../data-folder/layout.ts";

const schema = `
  CREATE TABLE services (
    name TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    etag TEXT NOT NULL,
    -- The number of the newest revision; numbers are not used twice.
    revisions INTEGER NOT NULL,
    serving_id TEXT,
    serving TEXT,
    rolling_id TEXT,
    rolling TEXT,
    attempted TEXT NOT NULL,
    -- 0 until a rollout of the service has ended: what a crash leaves then is half made.
    settled INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE ports (name TEXT PRIMARY KEY, port INTEGER NOT NULL) STRICT;
  CREATE TABLE deploys (
    deploy_id TEXT PRIMARY KEY,
    noted INTEGER NOT NULL,
    name TEXT NOT NULL,
    owner TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT,
    finished_at TEXT
  ) STRICT;
  CREATE TABLE freed (name TEXT PRIMARY KEY, owner TEXT NOT NULL, until TEXT NOT NULL) STRICT;
  CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    label TEXT NOT NULL,
    prefix TEXT NOT NULL,
    hash TEXT NOT NULL,
    created_at TEXT NOT NULL,
    last_used_at TEXT
  ) STRICT;
  CREATE INDEX keys_prefix ON keys (prefix);
  CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
`;

const volumesAndSchedules = `
  CREATE TABLE volumes (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at TEXT NOT NULL,
    -- 1 while it is decided whether it goes.
    hidden INTEGER NOT NULL,
    -- NULL for volumes that live; the others are in the trash.
    deleted_at TEXT
  ) STRICT;
  CREATE UNIQUE INDEX volumes_living ON volumes (owner, name) WHERE deleted_at IS NULL;
  CREATE INDEX volumes_name ON volumes (name);
  CREATE TABLE schedules (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The job as JSON.
    job TEXT NOT NULL,
    PRIMARY KEY (owner, name)
  ) STRICT;
  UPDATE services SET
    serving = json_set(serving, '$.spec.cronToken', ''),
    rolling = json_set(rolling, '$.spec.cronToken', ''),
    attempted = json_set(attempted, '$.spec.cronToken', '');
`;

/** Each entry takes the file from the version of its index to the next. */
const migrations = [schema, volumesAndSchedules];

/** Runs `work` as one transaction; it is undone whole where `work` throws. */
export const transaction = <T>(db: DatabaseSync, work: () => T): T => {
  db.exec("BEGIN IMMEDIATE");
  try {
    const value = work();
    db.exec("COMMIT");
    return value;
  } catch (error) {
    // A full disk may have ended it already.
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
};

const migrate = (db: DatabaseSync, path: string): void => {
  const { user_version: version } = db.prepare("PRAGMA user_version").get() as { user_version: number };
  if (version > migrations.length)
    throw new DataFolderError(
      "newer_version",
      path,
      `The data folder has format ${version}, and this Portside reads formats up to ${migrations.length}. Start the newer Portside, or use another folder with --data-dir.`,
    );
  for (const [index, sql] of migrations.entries()) {
    if (index < version) continue;
    transaction(db, () => {
      db.exec(sql);
      db.exec(`PRAGMA user_version = ${index + 1}`);
    });
  }
};

/**
 * Opens the state of a data folder; creates it if it is missing. Other processes may have it open too.
 * Throws a `DataFolderError` if it cannot be used.
 */
export const openState = (dataDir: string, logger?: Logger): DatabaseSync => {
  openDataFolder(dataDir, logger);
  const path = join(dataDir, "state.sqlite");
  let db: DatabaseSync | undefined;
  try {
    db = openDatabase(path, { timeout: 5000 });
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
    migrate(db, path);
    return db;
  } catch (error) {
    db?.close();
    throw explainFileError(error, path) ?? error;
  }
};

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

/**
 * Makes this process the only server of a data folder, until it ends, however it ends.
 * Throws a `DataFolderError` of kind `in_use` if another server has it.
 */
export const lockDataDir = (dataDir: string, logger?: Logger): { release(): void } => {
  openDataFolder(dataDir, logger);
  const path = join(dataDir, "lock.sqlite");
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
    return { release: () => lock.close() };
  } catch (error) {
    if (!isBusy(error)) throw explainFileError(error, path) ?? error;
    throw new DataFolderError(
      "in_use",
      dataDir,
      `Another Portside server uses the data folder ${dataDir}; stop it, or choose another with --data-dir.`,
    );
  }
};
