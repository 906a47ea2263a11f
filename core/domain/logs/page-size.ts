/** Limits the size of a log page, so that a server can hold one page in memory per concurrent request. */
import { type LogEntry, messageOf } from "./entry.ts";

/** The maximum total length of the messages on a page. A page may therefore have fewer entries than its limit. */
const MAX_PAGE_CHARS = 8 * 1024 * 1024;

/**
 * Returns a function that receives the length of the next entry and returns whether the entry fits on the page.
 * The first entry always fits, so that each page makes progress.
 */
export const pageRoom = (): ((chars: number) => boolean) => {
  let taken = 0;
  return (chars) => {
    const fits = taken === 0 || taken + chars <= MAX_PAGE_CHARS;
    // Add 1, so that an empty message also takes space.
    taken += chars + 1;
    return fits;
  };
};

/** Returns the leading entries that fit on one page. */
export const fitting = (entries: readonly LogEntry[]): readonly LogEntry[] => {
  const hasRoom = pageRoom();
  const end = entries.findIndex((entry) => !hasRoom(messageOf(entry).length));
  return end < 0 ? entries : entries.slice(0, end);
};
