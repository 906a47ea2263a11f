/** Pages of a log: the entries of a range in either order, and the cursor that leads to the next page. */
import { timestampOf } from "../wire/instant.ts";
import { comparePositions, cursorOf, earlier, justBefore, type LogPosition, later } from "./cursor.ts";
import { insertIdOf, type LogEntry, type LogPage, messageOf } from "./entry.ts";
import { recordOf } from "./filter/record.ts";
import { joined, type LogFilter } from "./filter/tree.ts";

/** The order of the entries on a page. */
export type PageOrder = "asc" | "desc";

/** The entries after `since`, up to and including `until`. Without a position, the range has no bound on that side. */
export interface PageRange {
  readonly since?: LogPosition | undefined;
  readonly until?: LogPosition | undefined;
}

/** The entries of a page in the order of the log, and the position from which the next page continues. */
export interface PagePart {
  readonly entries: readonly LogEntry[];
  readonly cursor: LogPosition;
  readonly partial: boolean;
}

/** The result of a search, with its entries in the order of the log. The next search continues from `seen`. */
interface Findings {
  readonly entries: readonly LogEntry[];
  readonly seen?: LogPosition | undefined;
  readonly partial: boolean;
}

/** Adds the condition that entries are not older than a position, so that a backward search can end there. */
export const notBefore = (filter: LogFilter, { instant }: LogPosition): LogFilter =>
  joined("and", [{ kind: "compare", path: ["timestamp"], op: ">=", literal: { text: timestampOf(instant) } }, filter]);

/**
 * Returns the page of a forward search. Omits the entries after `until`.
 * @param start the position to return if the search examined nothing
 */
export const ascendingPart = (found: Findings, { until }: PageRange, start: LogPosition): PagePart => {
  const cursor = found.seen ?? start;
  if (until === undefined || comparePositions(cursor, until) <= 0) return { ...found, cursor };
  const entries = found.entries.filter((entry) => comparePositions(entry, until) <= 0);
  return { entries, cursor: later(until, start), partial: false };
};

/**
 * Returns the page of a backward search, for a client that continues backwards. Omits the entries up to `since`.
 * After the last page (`isEnd`), the cursor is the start of the range.
 * @param start the position to return if the range has no entries and no bounds
 */
export const descendingPart = (
  found: Findings,
  { since, until }: PageRange,
  start: LogPosition,
): PagePart & { readonly isEnd: boolean } => {
  const entries =
    since === undefined ? found.entries : found.entries.filter((entry) => comparePositions(entry, since) > 0);
  const isEnd = found.seen === undefined || (since !== undefined && comparePositions(found.seen, since) <= 0);
  if (!isEnd) return { entries, cursor: found.seen as LogPosition, partial: found.partial, isEnd };
  const [oldest] = entries;
  const cursor = since ?? (oldest === undefined ? (until ?? start) : justBefore(oldest));
  return { entries, cursor, partial: false, isEnd };
};

/**
 * Returns the newest entries up to `until`, for a client that continues forwards.
 * @param now a position before all entries that the log receives later
 */
export const newestPart = ({ entries, partial }: Findings, until: LogPosition, now: LogPosition): PagePart => {
  const end = earlier(until, now);
  const last = entries.at(-1);
  return { entries, cursor: last === undefined ? end : later(last, end), partial };
};

const rowOf = (entry: LogEntry, isFull: boolean): LogPage["logs"][number] => {
  const timestamp = timestampOf(entry.instant);
  return {
    timestamp,
    severity: entry.severity,
    message: messageOf(entry),
    log_name: entry.logName,
    insert_id: insertIdOf(timestamp, entry.code),
    revision: entry.revision,
    instance_id: entry.instance,
    ...(isFull ? { entry: { ...recordOf(entry) } } : {}),
  };
};

/** Returns the client view of a page. */
export const logPageOf = (
  { entries, cursor, partial }: PagePart,
  { order = "asc", isFull = false }: { readonly order?: PageOrder; readonly isFull?: boolean } = {},
): LogPage => ({
  logs: (order === "asc" ? entries : entries.toReversed()).map((entry) => rowOf(entry, isFull)),
  cursor: cursorOf(cursor),
  partial,
});
