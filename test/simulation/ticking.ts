/** Work that waits for a clock that only this function advances. */
import type { ManualClock } from "../../adapters/memory/manual-clock.ts";

/** Moves the clock until the work is done; `millis` at a time. */
export const whileTicking = async <T>(clock: ManualClock, work: PromiseLike<T>, millis = 1000): Promise<T> => {
  let settled = false;
  const settle = () => {
    settled = true;
  };
  work.then(settle, settle);
  while (!settled) await clock.advance(millis);
  return work;
};
