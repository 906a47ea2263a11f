/** Retries temporary errors: a broken connection, a rate limit, a restarting service. */
import { ApiError, ConnectionError } from "../errors.ts";
import { wait } from "../streams.ts";

/** The delays between attempts. */
const DELAYS_MS = [250, 1000, 4000];

/**
 * Returns the delay before the next attempt; undefined if no attempts are left, or if a retry would fail in the same
 * way.
 */
const delayAfter = (error: unknown, tries: number): number | undefined => {
  const delay = DELAYS_MS[tries];
  if (delay === undefined || error instanceof ConnectionError) return delay;
  if (!(error instanceof ApiError) || (error.status !== 429 && error.status !== 503)) return undefined;
  return error.retryAfter === undefined ? delay : error.retryAfter * 1000;
};

/**
 * Retries up to three times if the error is temporary.
 * @param progress returns the current progress; an attempt that gets further than all earlier attempts resets the count
 */
export const retry = async <T>(
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
      await wait(delay, signal);
      signal.throwIfAborted();
    }
  }
};
