/**
 * Searches a log file by a filter, a window of rows after the other, so that a search that finds little can be ended in
 * time. Blocks its thread; the store runs it in one of its own.
 */
import { DatabaseSync } from "node:sqlite";
import type { AccountId } from "../../../core/domain/account.ts";
import { comparePositions, type LogPosition } from "../../../core/domain/log-cursor.ts";
import type { LogEntry } from "../../../core/domain/log-entry.ts";
import { lowerBound } from "../../../core/domain/log-filter/bounds.ts";
import { matcherOf } from "../../../core/domain/log-filter/match.ts";
import type { LogFindings, LogQuery, LogScope } from "../../../core/ports/log-store.ts";
import { compileRe2 } from "../../shared/re2.ts";
import { columnTime, entryOf, FIRST_NS, keyOf, LAST_NS, positionOf, type Row } from "./file.ts";
import { whereOf } from "./where.ts";

export interface Search {
  readonly path: string;
  readonly scope: LogScope;
  readonly query: LogQuery;
  /** Forwards from here; absent: backwards from the newest. */
  readonly place?: LogPosition;
}

/** The first is small: most searches find what they want nearby. */
const FIRST_WINDOW = 1000;
const WINDOW = 20_000;

const AFTER_ALL = BigInt(Number.MAX_SAFE_INTEGER);

type Key = Pick<Row, "ns" | "ord">;

/** Rows of the service between two keys, in one direction. */
const selection = (db: DatabaseSync, forwards: boolean) => {
  const rows = `FROM entries WHERE service = ? AND (ns, ord) ${forwards ? ">" : "<"} (?, ?) AND ns ${forwards ? "<=" : ">="} ?`;
  const order = forwards ? "ORDER BY ns, ord" : "ORDER BY ns DESC, ord DESC";
  const prepare = (sql: string) => {
    const statement = db.prepare(sql);
    statement.setReadBigInts(true);
    return statement;
  };
  return {
    /** The key of the window's last row; undefined where fewer rows than that are left. */
    last: prepare(`SELECT ns, ord ${rows} ${order} LIMIT 1 OFFSET ?`),
    matching: (where: string) => prepare(`SELECT * FROM (SELECT * ${rows} ${order} LIMIT ?) WHERE ${where} ${order}`),
  };
};

const newestKey = (db: DatabaseSync, service: string, until: bigint): Key | undefined => {
  const statement = db.prepare(
    "SELECT ns, ord FROM entries WHERE service = ? AND ns <= ? ORDER BY ns DESC, ord DESC LIMIT 1",
  );
  statement.setReadBigInts(true);
  return statement.get(service, until) as Key | undefined;
};

/** Adds matches until there are enough; true once there are. */
const collect = (
  rows: Iterable<unknown>,
  owner: AccountId,
  matches: (entry: LogEntry) => boolean,
  found: LogEntry[],
  limit: number,
): boolean => {
  for (const row of rows) {
    const entry = entryOf(owner, row as Row);
    if (matches(entry) && found.push(entry) === limit) return true;
  }
  return false;
};

const scanRows = (db: DatabaseSync, { scope, query, place }: Search): LogFindings => {
  const { owner, service } = scope;
  const until = columnTime(query.until ?? LAST_NS);
  const newestRow = newestKey(db, service, until);
  if (newestRow === undefined) return { entries: [], partial: false };
  const newest = positionOf(newestRow);
  const where = whereOf(query.filter, service);
  const matches = where.exact ? () => true : matcherOf(query.filter, compileRe2);
  const earliest = lowerBound(query.filter);
  const { last, matching } = selection(db, place !== undefined);
  const read = matching(where.sql);
  const found: LogEntry[] = [];
  const seenBy = place === undefined ? () => newest : forwardsSeen(place, newest, found);
  const end = place === undefined ? columnTime(earliest?.instant ?? FIRST_NS) : until;
  const ends = performance.now() + query.patience;
  let from = place === undefined ? { ns: until, ord: AFTER_ALL } : startOf(place, earliest);
  for (let size = FIRST_WINDOW; ; size = WINDOW) {
    const border = last.get(service, from.ns, from.ord, end, size - 1) as Key | undefined;
    const rows = read.iterate(service, from.ns, from.ord, end, size, ...where.params);
    const enough = collect(rows, owner, matches, found, query.limit);
    const over = enough || border === undefined;
    if (over || performance.now() > ends) {
      const seen = seenBy(enough, border);
      const entries = place === undefined ? found.reverse() : found;
      return { entries, ...(seen === undefined ? {} : { seen }), partial: !over };
    }
    from = border;
  }
};

/** How far a search forwards has come: to its last match, to the end of a window, or to the end of the log. */
const forwardsSeen =
  (place: LogPosition, newest: LogPosition, found: readonly LogEntry[]) =>
  (enough: boolean, border: Key | undefined): LogPosition | undefined => {
    if (enough) return found.at(-1);
    if (border !== undefined) return positionOf(border);
    return comparePositions(newest, place) > 0 ? newest : undefined;
  };

/** The place, or the filter's own lower bound where that is later. */
const startOf = (place: LogPosition, earliest: LogPosition | undefined): Key => {
  const later = earliest !== undefined && earliest.instant > place.instant ? earliest : place;
  const { ns, ord } = keyOf(later);
  return { ns, ord: BigInt(ord) };
};

/** One state of the file is searched, whatever is written meanwhile. What a thread of `Searches` calls. */
export const scan = (search: Search): LogFindings => {
  const db = new DatabaseSync(search.path, { readOnly: true, timeout: 5000 });
  try {
    db.exec("BEGIN");
    return scanRows(db, search);
  } finally {
    db.close();
  }
};
