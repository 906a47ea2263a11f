/** The deadline of a search. */
import { lettersOf, type Row } from "./rows.ts";

/** Number of characters to search between two checks of the clock. A line of 256 KiB may take a second. */
const UNWATCHED_LETTERS = 64 * 1024;
/** The cost of a row without text, in characters. */
const ROW_LETTERS = 64;

/**
 * Reports when the timeout has passed. Checks the clock only after `UNWATCHED_LETTERS` characters or a whole window, so
 * that every search makes progress.
 */
export const searchDeadline = (timeoutMs: number) => {
  const ends = performance.now() + timeoutMs;
  let unwatched = 0;
  return {
    isOver: () => performance.now() > ends,
    isOverAfter: (row: Row): boolean => {
      unwatched += lettersOf(row) + ROW_LETTERS;
      if (unwatched < UNWATCHED_LETTERS) return false;
      unwatched = 0;
      return performance.now() > ends;
    },
  };
};
