/** The deadline of a search. */
import { charsOf, type Row } from "./rows.ts";

/** Number of characters to search between two checks of the clock. A line of 256 KiB may take a second. */
const UNWATCHED_CHARS = 64 * 1024;
/** The cost of a row without text, in characters. */
const ROW_CHARS = 64;

/**
 * Reports when the timeout has passed. Checks the clock only after `UNWATCHED_CHARS` characters or a whole window, so
 * that every search makes progress.
 */
export const searchDeadline = (timeoutMs: number) => {
  const ends = performance.now() + timeoutMs;
  let unwatched = 0;
  return {
    isOver: () => performance.now() > ends,
    isOverAfter: (row: Row): boolean => {
      unwatched += charsOf(row) + ROW_CHARS;
      if (unwatched < UNWATCHED_CHARS) return false;
      unwatched = 0;
      return performance.now() > ends;
    },
  };
};
