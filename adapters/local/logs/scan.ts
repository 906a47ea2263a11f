/**
 * Searches a log file with a filter or counts its entries, window by window, until the page is full or the query's
 * timeout has passed. A search blocks its thread, so `Searches` runs it in a separate thread, except in a bundle.
 */
import { DatabaseSync } from "node:sqlite";
import { comparePositions, justBefore, type LogPosition } from "../../../core/domain/logs/cursor.ts";
import type { LogEntry } from "../../../core/domain/logs/entry.ts";
import { lowerBound } from "../../../core/domain/logs/filter/bounds.ts";
import { nanosOf } from "../../../core/domain/logs/filter/literals.ts";
import { matcherOf } from "../../../core/domain/logs/filter/match.ts";
import { pageRoom } from "../../../core/domain/logs/page-size.ts";
import type { LogCounts, LogFindings, LogQuery, LogScope } from "../../../core/ports/log-store.ts";
import { compileRe2 } from "../../shared/logs/re2.ts";
import { lowerThreadPriority } from "../../shared/runtime/low-priority.ts";
import { isDamage } from "../data-folder/data-folder-error.ts";
import { countRows, type LogCount } from "./count.ts";
import {
  charsOf,
  columnTime,
  entryOf,
  FIRST_NS,
  type Key,
  keyAfter,
  keyOf,
  LAST_NS,
  positionOf,
  type Row,
} from "./rows.ts";
import { searchDeadline } from "./search-deadline.ts";
import { NANOS_OF, type WhereClause, whereClause } from "./where-clause.ts";
import { Windows } from "./windows.ts";

export interface LogSearch {
  readonly path: string;
  readonly scope: LogScope;
  readonly query: LogQuery;
  /** The position from which to search; undefined to search backwards from the newest entry. */
  readonly position?: LogPosition;
  /** True to search backwards from `position`. */
  readonly backwards?: boolean;
}

type Deadline = ReturnType<typeof searchDeadline>;

/** The reason why a search ended, and the last row that it examined. */
type End = { readonly why: "limit" | "room" | "time" | "end"; readonly last?: Key };

const newestKey = (db: DatabaseSync, service: string, until: bigint): Key | undefined => {
  const statement = db.prepare(
    "SELECT ns, ord FROM entries WHERE service = ? AND ns <= ? ORDER BY ns DESC, ord DESC LIMIT 1",
  );
  statement.setReadBigInts(true);
  return statement.get(service, until) as Key | undefined;
};

/** Returns a function that collects matching rows until a limit ends the search. */
const collector = ({ scope, query }: LogSearch, exact: boolean, deadline: Deadline, found: LogEntry[]) => {
  const matches = exact ? () => true : matcherOf(query.filter, compileRe2);
  const hasRoom = pageRoom();
  const judge = (row: Row): End["why"] | undefined => {
    const entry = entryOf(scope.owner, row);
    if (!matches(entry)) return undefined;
    if (!hasRoom(charsOf(row))) return "room";
    return found.push(entry) === query.limit ? "limit" : undefined;
  };
  let before: Row | undefined;
  return (rows: Iterable<unknown>): End | undefined => {
    for (const row of rows as Iterable<Row>) {
      const why = judge(row);
      if (why === "room") return { why, ...(before === undefined ? {} : { last: before }) };
      before = row;
      if (why !== undefined) return { why, last: before };
      if (deadline.isOverAfter(row)) return { why: "time", last: before };
    }
    return undefined;
  };
};

/**
 * Returns the key at which the search starts, and the last key that it examines. Skips entries that are older than the
 * filter's lower bound.
 */
const rangeOf = ({ query, position, backwards }: LogSearch): { readonly from: Key; readonly end: Key } => {
  const until = columnTime(query.until ?? LAST_NS);
  const earliest = lowerBound(query.filter);
  const newest = { ns: until, ord: BigInt(Number.MAX_SAFE_INTEGER) };
  if (position === undefined || backwards) {
    const from = position === undefined || columnTime(position.instant) > until ? newest : keyAfter(keyOf(position));
    return { from, end: { ns: columnTime(earliest?.instant ?? FIRST_NS), ord: 0n } };
  }
  return {
    from: keyOf(earliest !== undefined && earliest.instant > position.instant ? earliest : position),
    end: newest,
  };
};

/** Examines the log window by window until a limit or the end of the log ends the search. */
const walk = (db: DatabaseSync, search: LogSearch, where: WhereClause, found: LogEntry[]): End => {
  const deadline = searchDeadline(search.query.timeoutMs);
  const collect = collector(search, where.exact, deadline, found);
  const forwards = search.position !== undefined && search.backwards !== true;
  const windows = new Windows(db, search.scope.service, forwards, where);
  const { end, from: start } = rangeOf(search);
  for (let from = start; ; ) {
    const { rows, border } = windows.next(from, end);
    const ended = collect(rows);
    if (ended !== undefined) return ended;
    if (border === undefined) return { why: "end" };
    if (deadline.isOver()) return { why: "time", last: border };
    from = border;
  }
};

const scanRows = (db: DatabaseSync, search: LogSearch): LogFindings => {
  const { scope, query, position, backwards } = search;
  const newestRow = newestKey(db, scope.service, columnTime(query.until ?? LAST_NS));
  if (newestRow === undefined) return { entries: [], partial: false };
  const newest = positionOf(newestRow);
  const found: LogEntry[] = [];
  const { why, last } = walk(db, search, whereClause(query.filter, scope.service), found);
  const partial = why === "time" || why === "room";
  if (backwards) {
    const seen = why === "end" ? undefined : last && justBefore(positionOf(last));
    return { entries: found.reverse(), partial, ...(seen === undefined ? {} : { seen }) };
  }
  if (position === undefined) return { entries: found.reverse(), seen: newest, partial };
  const seen = last === undefined ? newest : positionOf(last);
  return { entries: found, partial, ...(comparePositions(seen, position) > 0 ? { seen } : {}) };
};

/** Reads a snapshot of the file, so concurrent writes do not affect the result. */
const inSnapshot = <T>(path: string, read: (db: DatabaseSync) => T): T => {
  using db = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
  // SQL and the predicate must interpret durations in the same way.
  db.function(NANOS_OF, { deterministic: true, useBigIntArguments: true }, (text) =>
    columnTime(nanosOf(String(text)) ?? 0n),
  );
  db.exec("BEGIN");
  return read(db);
};

export const scan = (search: LogSearch): LogFindings => inSnapshot(search.path, (db) => scanRows(db, search));

/** Returns `damaged` if SQLite cannot read the file. An error would lose its code on the way to another thread. */
export const unlessDamaged = <T>(read: () => T): T | "damaged" => {
  try {
    return read();
  } catch (error) {
    if (isDamage(error)) return "damaged";
    throw error;
  }
};

export const search = (wanted: LogSearch): LogFindings | "damaged" => unlessDamaged(() => scan(wanted));

export const count = (wanted: LogCount): LogCounts | "damaged" =>
  unlessDamaged(() => inSnapshot(wanted.path, (db) => countRows(db, wanted)));

/** Entry point of `Searches` in a separate thread. The thread's low priority keeps searches from delaying requests. */
export const searchInThread = (wanted: LogSearch): LogFindings | "damaged" => {
  lowerThreadPriority();
  return search(wanted);
};

/** Entry point of `Searches` in a separate thread. */
export const countInThread = (wanted: LogCount): LogCounts | "damaged" => {
  lowerThreadPriority();
  return count(wanted);
};

/** Whether every page of a log file can be read. Entry point of `Searches`. */
export const isWhole = (path: string): boolean => {
  const verdict = unlessDamaged(() => {
    using db = new DatabaseSync(path, { readOnly: true, timeout: 5000 });
    return db.prepare("PRAGMA quick_check(1)").get()?.["quick_check"];
  });
  return verdict === "ok";
};
