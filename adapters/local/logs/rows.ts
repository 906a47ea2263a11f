/** Converts log entries to SQLite rows, log positions to row keys, and both back. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type LogPosition, ordinalCode } from "../../../core/domain/logs/cursor.ts";
import {
  type HttpRequestLog,
  type JsonPayload,
  type LogEntry,
  type LogName,
  type Severity,
  severities,
  severityNames,
} from "../../../core/domain/logs/entry.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";

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

/** A row to write. Uses numbers for small values, because a row is created for every line. */
export type NewRow = Omit<Row, "ord" | "severity"> & { readonly ord: number; readonly severity: number };

export type Key = Pick<Row, "ns" | "ord">;

type Contents = Pick<Row, "text" | "json" | "http">;

/** Returns the number of characters of an entry's content. */
export const charsOf = ({ text, json, http }: Contents): number =>
  (text?.length ?? 0) + (json?.length ?? 0) + (http?.length ?? 0);

export const severityOf = (rank: number): Severity =>
  severityNames.find((name) => severities[name] === rank) ?? "DEFAULT";

/** Converts an entry to a row. Throws if the entry has values that JSON cannot represent. */
export const rowOf = (entry: LogEntry): NewRow => ({
  service: entry.service,
  ns: entry.instant,
  ord: Number(entry.code),
  severity: severities[entry.severity],
  log: entry.logName,
  revision: entry.revision ?? null,
  instance: entry.instance ?? null,
  text: entry.text ?? null,
  json: entry.json === undefined ? null : JSON.stringify(entry.json),
  http: entry.http === undefined ? null : JSON.stringify(entry.http),
});

/** Parses a JSON column. Returns the text instead if a damaged disk has changed it. */
const parsed = (text: string): { readonly json?: JsonPayload; readonly text?: string } => {
  try {
    return { json: JSON.parse(text) as JsonPayload };
  } catch {
    return { text };
  }
};

const requestOf = (text: string): { readonly http?: HttpRequestLog; readonly text?: string } => {
  const { json, ...damaged } = parsed(text);
  return json === undefined ? damaged : { http: json as unknown as HttpRequestLog };
};

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
  ...(row.json === null ? {} : parsed(row.json)),
  ...(row.http === null ? {} : requestOf(row.http)),
});

/** SQLite's integer range; as nanoseconds, the years 1677 to 2262. */
export const FIRST_NS = -9_223_372_036_854_775_808n;
export const LAST_NS = 9_223_372_036_854_775_807n;

/** Clamps a time to the column's range. A time outside the range still sorts before or after every entry. */
export const columnTime = (time: bigint): bigint => (time < FIRST_NS ? FIRST_NS : time > LAST_NS ? LAST_NS : time);

/** Converts a position to a row key. Rows after the position have a greater key. */
export const keyOf = ({ instant, code }: LogPosition): Key => {
  const ns = columnTime(instant);
  if (!/^\d+$/.test(code)) return { ns, ord: BigInt(Number.MAX_SAFE_INTEGER) };
  const ordinal = BigInt(code.slice(0, 10).padEnd(10, "0"));
  // A truncated code sorts before all codes that start with it.
  return { ns, ord: code.length < 10 ? ordinal - 1n : ordinal };
};

/** Returns the key directly after a key. */
export const keyAfter = ({ ns, ord }: Key): Key => ({ ns, ord: ord + 1n });

export const positionOf = ({ ns, ord }: Key): LogPosition => ({
  instant: ns as Instant,
  code: ordinalCode(Number(ord)),
});
