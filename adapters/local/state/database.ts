/**
 * The engine's own state in one SQLite file: services, deploys, freed names, keys, settings, volumes,
 * schedules.
 * Every change is one transaction, flushed to disk, so that a kill at any moment leaves it before or after.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

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

const migrate = (db: DatabaseSync): void => {
  const { user_version: version } = db.prepare("PRAGMA user_version").get() as { user_version: number };
  if (version > migrations.length)
    throw new Error(
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

/** Opens the state of a data folder, made where it is missing; other processes may have it open too. */
export const openState = (dataDir: string): DatabaseSync => {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const db = new DatabaseSync(join(dataDir, "state.sqlite"), { timeout: 5000 });
  try {
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
    migrate(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
};

/**
 * Makes this process the only server of a data folder, until it ends, however it ends.
 * Throws, saying so, where another one has it.
 */
export const lockDataDir = (dataDir: string): { release(): void } => {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const lock = new DatabaseSync(join(dataDir, "lock.sqlite"), { timeout: 0 });
  try {
    lock.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;");
  } catch {
    lock.close();
    throw new Error(
      `Another Portside server uses the data folder ${dataDir}; stop it, or choose another with --data-dir.`,
    );
  }
  return { release: () => lock.close() };
};
