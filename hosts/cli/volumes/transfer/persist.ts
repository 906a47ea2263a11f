/** Another try for what may pass by itself: a connection that broke, a rate that was reached, a service that restarts. */
import { setTimeout as sleep } from "node:timers/promises";
import { Refused, Unreachable } from "../../client.ts";

/** Between the tries; there is one more of them than delays. */
const DELAYS_MS = [250, 1000, 4000];

/** How long to wait before another try; undefined where another would end like this one. */
const delayAfter = (error: unknown, tries: number): number | undefined => {
  const delay = DELAYS_MS[tries];
  if (delay === undefined || error instanceof Unreachable) return delay;
  if (!(error instanceof Refused) || (error.status !== 429 && error.status !== 503)) return undefined;
  return error.retryAfter === undefined ? delay : error.retryAfter * 1000;
};

/**
 * Tries up to three times more.
 * @param progress how far the work has come by now: a try that got further than any before it does not count
 */
export const persist = async <T>(
  signal: AbortSignal,
  work: () => Promise<T>,
  progress: () => number = () => 0,
): Promise<T> => {
  let furthest = progress();
  for (let tries = 0; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted) throw error;
      if (progress() > furthest) tries = 0;
      furthest = Math.max(furthest, progress());
      const delay = delayAfter(error, tries);
      if (delay === undefined) throw error;
      await sleep(delay, undefined, { signal });
    }
  }
};
