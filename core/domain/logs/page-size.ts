/** How much one page of a log takes: no more than a server can hold for each who asks, whatever the lines. */
import { type LogEntry, messageOf } from "./entry.ts";

/** Letters of messages; a page may be shorter than its limit for them. */
const PAGE_LETTERS = 8 * 1024 * 1024;

/**
 * The room of one page: asked with the letters of one entry after the other, it says whether there is room for it, too.
 * For the first one there always is, so that who follows gets on.
 */
export const pageRoom = (): ((letters: number) => boolean) => {
  let taken = 0;
  return (letters) => {
    const fits = taken === 0 || taken + letters <= PAGE_LETTERS;
    // Also one without letters has been taken.
    taken += letters + 1;
    return fits;
  };
};

/** As many entries, from the first on, as one page has room for. */
export const fitting = (entries: readonly LogEntry[]): readonly LogEntry[] => {
  const hasRoom = pageRoom();
  const end = entries.findIndex((entry) => !hasRoom(messageOf(entry).length));
  return end < 0 ? entries : entries.slice(0, end);
};
