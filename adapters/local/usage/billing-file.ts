/**
 * Stores metered usage in a separate SQLite file, because the server writes it every few seconds and other processes read it.
 * A killed server loses the increments since the last write. A power cut may lose a few more writes, but does not damage the
 * file.
 */
import { lstatSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Logger } from "../../../core/ports/system.ts";
import { explainFileError, isDamage } from "../data-folder/data-folder-error.ts";
import { openDatabase } from "../data-folder/layout.ts";
import { setAside } from "../data-folder/set-aside.ts";

const FILE = "billing.sqlite";

const schema = `
  CREATE TABLE IF NOT EXISTS usage (
    owner TEXT NOT NULL,
    deployment TEXT NOT NULL,
    -- A UTC day, YYYY-MM-DD.
    day TEXT NOT NULL,
    sku TEXT NOT NULL,
    currency TEXT NOT NULL,
    -- In the SKU's grains, which are whole.
    grains INTEGER NOT NULL,
    -- An exact decimal, by the prices of the time when it was used.
    cost TEXT NOT NULL,
    PRIMARY KEY (owner, day, deployment, sku, currency)
  ) STRICT, WITHOUT ROWID;
  -- The number of the last batch of increments that was written.
  CREATE TABLE IF NOT EXISTS batches (only INTEGER PRIMARY KEY CHECK (only = 1), last INTEGER NOT NULL) STRICT;
  INSERT OR IGNORE INTO batches (only, last) VALUES (1, 0);
`;

const open = (path: string): DatabaseSync => {
  const db = openDatabase(path, { timeout: 5000 });
  try {
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
    db.exec(schema);
    const { quick_check: verdict } = db.prepare("PRAGMA quick_check(1)").get() as { quick_check: string };
    if (verdict !== "ok") throw new DamagedBilling(verdict);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
};

class DamagedBilling extends Error {}

const isFolder = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** `billing.sqlite` of a data folder. Sets a damaged file aside, because it must not prevent services from running. */
export class BillingFile {
  readonly #dataDir: string;
  readonly #logger: Logger;
  /** Undefined if a damaged file could not be replaced, for example on a full disk. */
  #db: DatabaseSync | undefined;
  #isClosed = false;

  constructor(dataDir: string, logger: Logger) {
    this.#dataDir = dataDir;
    this.#logger = logger;
    this.#db = this.#open();
  }

  /** Calls `work`. If the file is damaged, calls it again with a new, empty file. */
  use<T>(work: (db: DatabaseSync) => T): T {
    if (this.#isClosed) throw new Error(`${this.#path} is closed`);
    this.#db ??= this.#open();
    try {
      return work(this.#db);
    } catch (cause) {
      if (!isDamage(cause)) throw cause;
      this.#db.close();
      this.#db = undefined;
      this.#setAside(cause);
      this.#db = this.#open();
      return work(this.#db);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#db?.close();
  }

  get #path(): string {
    return join(this.#dataDir, FILE);
  }

  #open(): DatabaseSync {
    try {
      return open(this.#path);
    } catch (cause) {
      if (!isDamage(cause) && !(cause instanceof DamagedBilling) && !isFolder(this.#path))
        throw explainFileError(cause, this.#path) ?? cause;
      this.#setAside(cause);
      return open(this.#path);
    }
  }

  #setAside(cause: unknown): void {
    const names = ["", "-wal", "-shm", "-journal"].map((ending) => FILE + ending);
    const kept = setAside(this.#dataDir, names);
    this.#logger.error("set aside the damaged file of metered usage; the SQL table 'billing' starts empty", {
      path: this.#path,
      kept,
      cause,
    });
  }
}
