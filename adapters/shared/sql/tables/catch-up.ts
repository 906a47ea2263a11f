/** Synchronizes the derived database with a log: adds new entries and removes deleted ones. */
import { setImmediate as turn } from "node:timers/promises";
import type { DuckDBAppender, DuckDBConnection } from "@duckdb/node-api";
import type { EntryRow, LogReader, ReadPosition } from "./entries.ts";

/** Rows per transaction. Committed rows survive the end of the process. */
const BATCH = 20_000;
const NOWHERE: ReadPosition = { ns: -9_223_372_036_854_775_808n, ord: 0 };

const appendText = (appender: DuckDBAppender, value: string | null): void => {
  if (value === null) appender.appendNull();
  else appender.appendVarchar(value);
};

const appendRow = (appender: DuckDBAppender, row: EntryRow): void => {
  appender.appendVarchar(row.service);
  appender.appendBigInt(row.ns);
  appender.appendBigInt(BigInt(row.ord));
  appender.appendVarchar(row.severity);
  appender.appendVarchar(row.log);
  appendText(appender, row.revision);
  appendText(appender, row.instance);
  appendText(appender, row.text);
  appendText(appender, row.json);
  appendText(appender, row.http);
  appender.endRow();
};

const writeBatch = async (connection: DuckDBConnection, rows: readonly EntryRow[]): Promise<void> => {
  const appender = await connection.createAppender("entries");
  for (const row of rows) appendRow(appender, row);
  appender.closeSync();
  // The appender releases its memory only in the next turn of the event loop.
  await turn();
};

/** Adds entries in batches. Returns their number. */
export const addEntries = async (connection: DuckDBConnection, rows: Iterable<EntryRow>): Promise<number> => {
  let batch: EntryRow[] = [];
  let count = 0;
  for (const row of rows) {
    batch.push(row);
    if (batch.length < BATCH) continue;
    await writeBatch(connection, batch);
    count += batch.length;
    batch = [];
  }
  if (batch.length > 0) await writeBatch(connection, batch);
  return count + batch.length;
};

/**
 * Caches the first and last positions that the database contains for each service. The cache stays correct, because
 * the database has a single writer.
 */
export class LogSync {
  readonly #connection: DuckDBConnection;
  readonly #last = new Map<string, ReadPosition>();
  readonly #first = new Map<string, ReadPosition>();

  private constructor(connection: DuckDBConnection) {
    this.#connection = connection;
  }

  static async of(connection: DuckDBConnection): Promise<LogSync> {
    const self = new LogSync(connection);
    const rows = await connection.runAndReadAll(
      `SELECT service, max({'ns': ns, 'ord': ord}) AS last FROM entries GROUP BY service`,
    );
    for (const [service, last] of rows.getRows()) {
      const { ns, ord } = (last as unknown as { entries: { ns: bigint; ord: bigint } }).entries;
      self.#last.set(String(service), { ns, ord: Number(ord) });
    }
    return self;
  }

  /** Synchronizes the database with the log. Returns the number of new entries. */
  async catchUp(log: LogReader): Promise<number> {
    const services = log.services();
    await this.#forget(services);
    let count = 0;
    for (const service of services) {
      await this.#cut(service, log.first(service));
      count += await addEntries(
        this.#connection,
        this.#watched(log.after(service, this.#last.get(service) ?? NOWHERE)),
      );
    }
    return count;
  }

  *#watched(rows: Iterable<EntryRow>): Iterable<EntryRow> {
    for (const row of rows) {
      yield row;
      this.#last.set(row.service, row);
    }
  }

  /** Deletes the entries of services that the log no longer contains. */
  async #forget(services: readonly string[]): Promise<void> {
    const kept = new Set(services);
    for (const service of [...this.#last.keys()].filter((one) => !kept.has(one))) {
      await this.#connection.run("DELETE FROM entries WHERE service = $1", [service]);
      this.#last.delete(service);
      this.#first.delete(service);
    }
  }

  async #cut(service: string, first: ReadPosition | undefined): Promise<void> {
    const before = this.#first.get(service);
    if (first === undefined || (before?.ns === first.ns && before.ord === first.ord)) return;
    if (this.#last.has(service))
      await this.#connection.run("DELETE FROM entries WHERE service = $1 AND (ns < $2 OR (ns = $2 AND ord < $3))", [
        service,
        first.ns,
        BigInt(first.ord),
      ]);
    this.#first.set(service, first);
  }
}
