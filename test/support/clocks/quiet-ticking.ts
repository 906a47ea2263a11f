/** Runs work that waits on a manual clock and makes calls over real connections. */
import { setTimeout as pause } from "node:timers/promises";
import type { ManualClock } from "../../../adapters/memory/index.ts";

const TICK_MS = 200;

/** Advances the clock until the work settles. The clock stands still during calls. */
export const whileTickingQuietly = async <T>(
  clock: ManualClock,
  work: PromiseLike<T>,
  isCalling: () => boolean,
): Promise<T> => {
  let settled = false;
  const settle = () => {
    settled = true;
  };
  work.then(settle, settle);
  while (!settled) {
    await pause(1);
    if (!isCalling()) await clock.advance(TICK_MS);
  }
  return work;
};
