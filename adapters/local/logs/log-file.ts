/** Writes an account's log. Each account has a separate SQLite file, which isolates accounts from each other. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { LogPosition } from "../../../core/domain/logs/cursor.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import { isDamage } from "../data-folder/data-folder-error.ts";
import { openDatabase } from "../data-folder/layout.ts";
import { transaction } from "../state/database.ts";
import { Retention } from "./retention.ts";
import { type Key, type NewRow, positionOf } from "./rows.ts";

const schema = `
  CREATE TABLE IF NOT EXISTS entries (
    service TEXT NOT NULL,
    ns INTEGER NOT NULL,
    ord INTEGER NOT NULL,
    severity INTEGER NOT NULL,
    log TEXT NOT NULL,
    revision TEXT,
    instance TEXT,
    text TEXT,
    json TEXT,
    http TEXT,
    PRIMARY KEY (service, ns, ord)
  ) STRICT, WITHOUT ROWID;
  PRAGMA user_version = 1;
`;

const INSERT = `INSERT INTO entries (service, ns, ord, severity, log, revision, instance, text, json, http)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const openLog = (path: string): DatabaseSync => {
  const db = openDatabase(path, { timeout: 5000 });
  try {
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; ${schema}`);
    return db;
  } catch (error) {
    // Do not leak the handle: on a full disk, the caller retries repeatedly.
    db.close();
    throw error;
  }
};

export class LogFile {
  readonly #db: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #restore: StatementSync;
  readonly #last: StatementSync;
  readonly #retention: Retention;

  readonly path: string;

  constructor(path: string) {
    this.path = path;
    this.#db = openLog(path);
    this.#insert = this.#db.prepare(INSERT);
    this.#restore = this.#db.prepare(INSERT.replace("INSERT", "INSERT OR IGNORE"));
    this.#last = this.#db.prepare("SELECT ns, ord FROM entries WHERE service = ? ORDER BY ns DESC, ord DESC LIMIT 1");
    this.#last.setReadBigInts(true);
    this.#retention = new Retention(this.#db);
  }

  /** Writes the rows. Returns an error for each row that could not be written. All other rows are written. */
  write(rows: readonly NewRow[]): readonly unknown[] {
    const failed: unknown[] = [];
    transaction(this.#db, () => {
      for (const row of rows)
        try {
          this.#run(this.#insert, row);
        } catch (cause) {
          // A full disk may have ended the transaction for all rows, and a damaged file rejects all rows.
          if (!this.#db.isTransaction || isDamage(cause)) throw cause;
          failed.push(cause);
        }
    });
    return failed;
  }

  /** Adds the rows of an earlier file that are not present yet. Returns the number of added rows. */
  restore(rows: readonly NewRow[]): number {
    if (rows.length === 0) return 0;
    return transaction(this.#db, () => rows.reduce((sum, row) => sum + this.#run(this.#restore, row), 0));
  }

  /** Returns the position of the service's last entry. */
  last(service: string): LogPosition | undefined {
    const key = this.#last.get(service) as Key | undefined;
    return key === undefined ? undefined : positionOf(key);
  }

  /**
   * Removes some of the oldest entries if any is older than `before` or the file exceeds `maxBytes`. Takes a few
   * milliseconds. Returns true if there may be more entries to remove.
   */
  retain(before: Instant, maxBytes: number): boolean {
    return this.#retention.step(before, maxBytes);
  }

  #run(statement: StatementSync, row: NewRow): number {
    const { service, ns, ord, severity, log, revision, instance, text, json, http } = row;
    return Number(statement.run(service, ns, ord, severity, log, revision, instance, text, json, http).changes);
  }

  close(): void {
    this.#db.close();
  }
}
