/**
 * An SQLite file whose loss does not stop services. If the file is damaged, Portside sets it aside and starts a new
 * file.
 *
 * A killed process loses no committed transaction. A power cut may lose the last transactions, but does not damage the
 * file.
 */
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Logger } from "../../../core/ports/system.ts";
import { explainFileError, isDamage } from "./data-folder-error.ts";
import { openDatabase, withCompanions } from "./layout.ts";
import { setAside } from "./set-aside.ts";

export interface ReplaceableFileOptions {
  readonly dataDir: string;
  /** The name of the file in the data folder. */
  readonly name: string;
  /** Statements that create missing tables and rows. They run each time the file is opened. */
  readonly schema: string;
  /** The log message for a replaced file. Must state the consequence of the loss. */
  readonly whenReplaced: string;
  readonly logger: Logger;
}

class FailedCheck extends Error {}

/** Throws if a page cannot be read. */
const check = (db: DatabaseSync): void => {
  const { quick_check: verdict } = db.prepare("PRAGMA quick_check(1)").get() as { quick_check: string };
  if (verdict !== "ok") throw new FailedCheck(verdict);
};

const isBroken = (cause: unknown): boolean => isDamage(cause) || cause instanceof FailedCheck;

const open = (path: string, schema: string): DatabaseSync => {
  const db = openDatabase(path, { timeout: 5000 });
  try {
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
    db.exec(schema);
    check(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
};

const isFolder = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

export class ReplaceableFile {
  readonly #options: ReplaceableFileOptions;
  readonly #path: string;
  /** Undefined if a damaged file could not be replaced, for example on a full disk. */
  #db: DatabaseSync | undefined;
  #isClosed = false;

  constructor(options: ReplaceableFileOptions) {
    this.#options = options;
    this.#path = join(options.dataDir, options.name);
    this.#db = this.#open();
  }

  /** Calls `work`. If the file is damaged, calls `work` again with a new, empty file. */
  use<T>(work: (db: DatabaseSync) => T): T {
    if (this.#isClosed) throw new Error(`${this.#path} is closed`);
    this.#db ??= this.#open();
    try {
      return work(this.#db);
    } catch (cause) {
      if (!isDamage(cause)) throw cause;
      return work(this.#replace(cause));
    }
  }

  /** Replaces the file if one of its pages cannot be read. Reads all pages from the disk, through a new connection. */
  check(): void {
    try {
      using db = new DatabaseSync(this.#path, { readOnly: true, timeout: 5000 });
      check(db);
    } catch (cause) {
      if (!isBroken(cause)) throw cause;
      this.#replace(cause);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#db?.close();
  }

  #open(): DatabaseSync {
    const { schema } = this.#options;
    try {
      return open(this.#path, schema);
    } catch (cause) {
      if (!isBroken(cause) && !isFolder(this.#path)) throw explainFileError(cause, this.#path) ?? cause;
      this.#setAside(cause);
      return open(this.#path, schema);
    }
  }

  #replace(cause: unknown): DatabaseSync {
    this.#db?.close();
    this.#db = undefined;
    this.#setAside(cause);
    this.#db = this.#open();
    return this.#db;
  }

  #setAside(cause: unknown): void {
    const { dataDir, name, whenReplaced, logger } = this.#options;
    const kept = setAside(dataDir, withCompanions(name));
    logger.error(whenReplaced, { path: this.#path, kept, cause });
  }
}
