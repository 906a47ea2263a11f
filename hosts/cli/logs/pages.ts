/** Reads the requested entries page by page. Returns the cursor from which a follower continues. */
import { LOG_PAGE, type LogRow } from "./follow.ts";
import type { LogReader } from "./reader.ts";

type Show = (row: LogRow) => void;

/**
 * Shows the entries since a time.
 * @param count the number of newest entries to show after reading all pages; undefined shows every entry immediately
 */
export const readSinceThen = async (
  reader: LogReader,
  { since, until }: { readonly since: string; readonly until: string | undefined },
  count: number | undefined,
  show: Show,
): Promise<string> => {
  const kept: LogRow[] = [];
  for (let from = since; ; ) {
    const { logs, cursor, partial } = await reader.page({ since: from, until, limit: LOG_PAGE });
    if (count === undefined) for (const row of logs) show(row);
    else {
      kept.push(...logs);
      if (kept.length > count) kept.splice(0, kept.length - count);
    }
    if (logs.length < LOG_PAGE && !partial) {
      for (const row of kept) show(row);
      return cursor;
    }
    from = cursor;
  }
};

/** Returns a filter for the entries before this one. Ids sort in log order; the timestamp only narrows the search. */
const before = ({ timestamp, insert_id }: LogRow): string => `timestamp<="${timestamp}" AND insertId<"${insert_id}"`;

/**
 * Shows the newest entries. A page has at most 1000 entries. Further requests read the entries before the oldest one
 * received. If the filter has a lower time bound, the API returns the first entries after the bound, so further
 * requests read forward from the cursor.
 */
export const readNewest = async (
  reader: LogReader,
  { count, until }: { readonly count: number; readonly until: string | undefined },
  show: Show,
  onCut: () => void,
): Promise<string> => {
  // The API rejects a limit of 0, but the caller needs the cursor even if it shows no entries.
  const first = await reader.page({ until, limit: Math.min(Math.max(count, 1), LOG_PAGE) });
  const pages = [first.logs];
  let [page, wanted, { cursor }] = [first, count - first.logs.length, first];
  while (wanted > 0 && page.logs.length === LOG_PAGE) {
    page = await reader.page({ until, limit: Math.min(wanted, LOG_PAGE) }, before(page.logs[0] as LogRow));
    pages.unshift(page.logs);
    wanted -= page.logs.length;
  }
  if (page.partial) onCut();
  let behind = pages.length > 1 && page.logs.length === 0;
  while (behind && wanted > 0) {
    page = await reader.page({ since: cursor, until, limit: Math.min(wanted, LOG_PAGE) });
    pages.push(page.logs);
    cursor = page.cursor;
    wanted -= page.logs.length;
    behind = page.logs.length === LOG_PAGE;
  }
  if (count > 0) for (const rows of pages) for (const row of rows) show(row);
  return cursor;
};

/**
 * Shows the entries of a range, newest first.
 * @param count the maximum number of entries to show; undefined shows all
 */
export const readReversed = async (
  reader: LogReader,
  { since, until }: { readonly since: string | undefined; readonly until: string | undefined },
  count: number | undefined,
  show: Show,
): Promise<void> => {
  let wanted = count ?? Number.POSITIVE_INFINITY;
  for (let to = until; wanted > 0; ) {
    const limit = Math.min(wanted, LOG_PAGE);
    const { logs, cursor, partial } = await reader.page({ since, until: to, order: "desc", limit });
    for (const row of logs) show(row);
    if (logs.length < limit && !partial) return;
    wanted -= logs.length;
    to = cursor;
  }
};
