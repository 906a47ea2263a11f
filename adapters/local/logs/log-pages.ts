/**
 * Reads pages of an account's log file while the engine writes to it. A row's key is its position in the log, so a page
 * takes one index seek.
 */
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { justBefore, type LogPosition } from "../../../core/domain/logs/cursor.ts";
import type { LogEntry } from "../../../core/domain/logs/entry.ts";
import { pageRoom } from "../../../core/domain/logs/page-size.ts";
import type { EarlierFindings, LogFindings, LogScope } from "../../../core/ports/log-store.ts";
import { charsOf, columnTime, entryOf, keyOf, LAST_NS, type Row } from "./rows.ts";

/** Converts rows to entries until the page is full. `partial` is true if more rows follow. */
const page = (rows: Iterable<unknown>, { owner }: LogScope): Pick<LogFindings, "partial"> & { entries: LogEntry[] } => {
  const hasRoom = pageRoom();
  const entries: LogEntry[] = [];
  for (const row of rows as Iterable<Row>) {
    if (!hasRoom(charsOf(row))) return { entries, partial: true };
    entries.push(entryOf(owner, row));
  }
  return { entries, partial: false };
};

export class LogPages implements Disposable {
  readonly #db: DatabaseSync;
  readonly #newest: StatementSync;
  readonly #after: StatementSync;
  readonly #before: StatementSync;

  /** Throws if the file does not exist. */
  constructor(path: string) {
    this.#db = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
    try {
      this.#newest = this.#db.prepare(
        "SELECT * FROM entries WHERE service = ? AND ns <= ? ORDER BY ns DESC, ord DESC LIMIT ?",
      );
      this.#after = this.#db.prepare(
        "SELECT * FROM entries WHERE service = ? AND (ns, ord) > (?, ?) AND ns <= ? ORDER BY ns, ord LIMIT ?",
      );
      this.#before = this.#db.prepare(
        "SELECT * FROM entries WHERE service = ? AND (ns, ord) <= (?, ?) AND ns <= ? ORDER BY ns DESC, ord DESC LIMIT ?",
      );
    } catch (error) {
      this.#db.close();
      throw error;
    }
    this.#newest.setReadBigInts(true);
    this.#after.setReadBigInts(true);
    this.#before.setReadBigInts(true);
  }

  /** Returns the newest entries of a service, oldest first. */
  newest(scope: LogScope, limit: number, until: bigint = LAST_NS): LogFindings {
    const { entries, partial } = page(this.#newest.iterate(scope.service, columnTime(until), limit), scope);
    const [last] = entries;
    return { entries: entries.reverse(), partial, ...(last === undefined ? {} : { seen: last }) };
  }

  /** Returns the first entries after a position. */
  after(scope: LogScope, position: LogPosition, limit: number, until: bigint = LAST_NS): LogFindings {
    const { ns, ord } = keyOf(position);
    const rows = this.#after.iterate(scope.service, ns, ord, columnTime(until), limit);
    const { entries, partial } = page(rows, scope);
    const last = entries.at(-1);
    return { entries, partial, ...(last === undefined ? {} : { seen: last }) };
  }

  /** Returns the last entries up to a position, oldest first. */
  before(scope: LogScope, position: LogPosition, limit: number, until: bigint = LAST_NS): EarlierFindings {
    const { ns, ord } = keyOf(position);
    const rows = this.#before.iterate(scope.service, ns, ord, columnTime(until), limit);
    const { entries, partial } = page(rows, scope);
    const oldest = partial || entries.length === limit ? entries.at(-1) : undefined;
    return { entries: entries.reverse(), partial, ...(oldest === undefined ? {} : { seen: justBefore(oldest) }) };
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }
}
