/** Reads the first entries of a listing that is sorted by time, for followers. */
import { comparePositions, type LogPosition } from "../../../core/domain/logs/cursor.ts";
import type { LogEntry } from "../../../core/domain/logs/entry.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import type { FollowedPage } from "./followed-log.ts";

/** A page of a listing, oldest entry first. */
export interface ListedPage {
  readonly entries: readonly LogEntry[];
  /** The number of entries in the page, including those that `entries` omits. */
  readonly size: number;
  /** The position up to which the pages so far are complete; absent if the page is empty. */
  readonly end: LogPosition | undefined;
  /** Absent on the last page. A page may be empty without being the last. */
  readonly next: string | undefined;
}

export interface FirstEntries extends FollowedPage {
  /** The number of entries in all pages that were read, including those that `entries` omits. */
  readonly size: number;
  readonly pages: number;
}

/** Number of pages without progress after which the read gives up. */
const MAX_PAGES = 5;

/**
 * Reads pages until the entries are complete up to a position after `from`, and returns that position as `end`. After
 * `MAX_PAGES` pages without such a position, returns no entries, and `from` as `end`. Returns no `end` if the listing
 * ended.
 *
 * @param nextTurn must resolve before each further page
 */
export const firstEntries = async <E>(
  list: (token: string | undefined) => Promise<Result<ListedPage, E>>,
  from: LogPosition,
  nextTurn: () => Promise<void>,
): Promise<Result<FirstEntries, E>> => {
  const entries: LogEntry[] = [];
  let token: string | undefined;
  let size = 0;
  for (let pages = 1; pages <= MAX_PAGES; pages++) {
    if (pages > 1) await nextTurn();
    const listed = await list(token);
    if (listed.isErr()) return err(listed.error);
    const { end, next } = listed.value;
    entries.push(...listed.value.entries);
    size += listed.value.size;
    const sorted = entries.toSorted(comparePositions);
    if (next === undefined) return ok({ entries: sorted, size, pages });
    if (end !== undefined && comparePositions(end, from) > 0)
      return ok({ entries: sorted.filter((entry) => comparePositions(entry, end) <= 0), size, pages, end });
    token = next;
  }
  return ok({ entries: [], size, pages: MAX_PAGES, end: from });
};
