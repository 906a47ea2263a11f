/** Runs work that waits on a manual clock. */
import type { ManualClock } from "../../adapters/memory/manual-clock.ts";

/** Advances the clock, by `millis` at a time, until the work settles. */
export const whileTicking = async <T>(clock: ManualClock, work: PromiseLike<T>, millis = 1000): Promise<T> => {
  let settled = false;
  const settle = () => {
    settled = true;
  };
  work.then(settle, settle);
  while (!settled) await clock.advance(millis);
  return work;
};
