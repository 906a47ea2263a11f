/**
 * The log of one account in one SQLite file: rows keyed by (service, nanosecond, ordinal), so that a page is
 * one index seek. An account's entries are in no other file, which is what keeps accounts apart.
 */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { AccountId } from "../../../core/domain/account.ts";
import type { Instant } from "../../../core/domain/instant.ts";
import { type LogPosition, ordinalCode } from "../../../core/domain/log-cursor.ts";
import {
  type HttpRequestLog,
  type JsonPayload,
  type LogEntry,
  type LogName,
  type Severity,
  severities,
  severityNames,
} from "../../../core/domain/log-entry.ts";
import type { DeploymentName } from "../../../core/domain/names.ts";
import type { LogScope } from "../../../core/ports/log-store.ts";
import { transaction } from "../state/database.ts";

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

export interface Row {
  service: string;
  ns: bigint;
  ord: bigint;
  severity: bigint;
  log: string;
  revision: string | null;
  instance: string | null;
  text: string | null;
  json: string | null;
  http: string | null;
}

const severityOf = (rank: number): Severity => severityNames.find((name) => severities[name] === rank) ?? "DEFAULT";

export const entryOf = (owner: AccountId, row: Row): LogEntry => ({
  owner,
  service: row.service as DeploymentName,
  instant: row.ns as Instant,
  code: ordinalCode(Number(row.ord)),
  severity: severityOf(Number(row.severity)),
  logName: row.log as LogName,
  ...(row.revision === null ? {} : { revision: row.revision }),
  ...(row.instance === null ? {} : { instance: row.instance }),
  ...(row.text === null ? {} : { text: row.text }),
  ...(row.json === null ? {} : { json: JSON.parse(row.json) as JsonPayload }),
  ...(row.http === null ? {} : { http: JSON.parse(row.http) as HttpRequestLog }),
});

const INSERT = `INSERT INTO entries (service, ns, ord, severity, log, revision, instance, text, json, http)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/** The integers of SQLite: as nanoseconds, from 1677 to 2262. */
export const FIRST_NS = -9_223_372_036_854_775_808n;
export const LAST_NS = 9_223_372_036_854_775_807n;

/** A time as a column holds it; one that none can hold is before or behind every entry all the same. */
export const columnTime = (time: bigint): bigint => (time < FIRST_NS ? FIRST_NS : time > LAST_NS ? LAST_NS : time);

/** A place as a row's key: the rows behind the place are those with a greater key. */
export const keyOf = ({ instant, code }: LogPosition): { readonly ns: bigint; readonly ord: number } => {
  const ns = columnTime(instant);
  if (!/^\d+$/.test(code)) return { ns, ord: Number.MAX_SAFE_INTEGER };
  const ordinal = Number(code.slice(0, 10).padEnd(10, "0"));
  // A code that was cut short lies before all that begin with it.
  return { ns, ord: code.length < 10 ? ordinal - 1 : ordinal };
};

export const positionOf = ({ ns, ord }: Pick<Row, "ns" | "ord">): LogPosition => ({
  instant: ns as Instant,
  code: ordinalCode(Number(ord)),
});

const openLog = (path: string): DatabaseSync => {
  const db = new DatabaseSync(path, { timeout: 5000 });
  try {
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; ${schema}`);
    return db;
  } catch (error) {
    // On a full disk this is tried again and again.
    db.close();
    throw error;
  }
};

export class LogFile {
  readonly #db: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #newest: StatementSync;
  readonly #after: StatementSync;

  constructor(path: string) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    this.#db = openLog(path);
    this.#insert = this.#db.prepare(INSERT);
    this.#newest = this.#db.prepare(
      "SELECT * FROM entries WHERE service = ? AND ns <= ? ORDER BY ns DESC, ord DESC LIMIT ?",
    );
    this.#after = this.#db.prepare(
      "SELECT * FROM entries WHERE service = ? AND (ns, ord) > (?, ?) AND ns <= ? ORDER BY ns, ord LIMIT ?",
    );
    this.#newest.setReadBigInts(true);
    this.#after.setReadBigInts(true);
  }

  write(entries: readonly LogEntry[]): void {
    transaction(this.#db, () => {
      for (const entry of entries)
        this.#insert.run(
          entry.service,
          entry.instant,
          Number(entry.code),
          severities[entry.severity],
          entry.logName,
          entry.revision ?? null,
          entry.instance ?? null,
          entry.text ?? null,
          entry.json === undefined ? null : JSON.stringify(entry.json),
          entry.http === undefined ? null : JSON.stringify(entry.http),
        );
    });
  }

  /** The newest entries of a service, oldest first. */
  newest({ owner, service }: LogScope, limit: number, until: bigint = LAST_NS): LogEntry[] {
    return (this.#newest.all(service, columnTime(until), limit) as unknown as Row[])
      .map((row) => entryOf(owner, row))
      .reverse();
  }

  /** The first entries behind a place. */
  after({ owner, service }: LogScope, place: LogPosition, limit: number, until: bigint = LAST_NS): LogEntry[] {
    const { ns, ord } = keyOf(place);
    return (this.#after.all(service, ns, ord, columnTime(until), limit) as unknown as Row[]).map((row) =>
      entryOf(owner, row),
    );
  }

  /** Removes what is older than `before`, and the oldest entries of each service while the file is over `maxBytes`. */
  retain(before: Instant, maxBytes: number): void {
    const services = this.#db.prepare("SELECT DISTINCT service FROM entries").all() as { service: string }[];
    const cut = this.#db.prepare("DELETE FROM entries WHERE service = ? AND ns < ?");
    for (const { service } of services) cut.run(service, before);
    for (let round = 0; round < 20 && this.#bytes() > maxBytes; round++)
      this.#dropTenth(services.map(({ service }) => service));
  }

  close(): void {
    this.#db.close();
  }

  /** Bytes of the pages in use; freed pages are used again before the file grows. */
  #bytes(): number {
    const value = (name: string) =>
      Object.values(this.#db.prepare(`PRAGMA ${name}`).get() as Record<string, number>)[0] as number;
    return (value("page_count") - value("freelist_count")) * value("page_size");
  }

  #dropTenth(services: readonly string[]): void {
    const count = this.#db.prepare("SELECT count(*) AS n FROM entries WHERE service = ?");
    const cut = this.#db.prepare(
      "DELETE FROM entries WHERE (service, ns, ord) IN (SELECT service, ns, ord FROM entries WHERE service = ? ORDER BY ns, ord LIMIT ?)",
    );
    for (const service of services) cut.run(service, Math.ceil((count.get(service) as { n: number }).n / 10));
  }
}
