/** Deadlines for port calls. */
import type { Clock } from "../../ports/system.ts";

/**
 * Returns the result of `work`, or undefined if the deadline passes or `signal` aborts first. In every case, the signal
 * passed to `work` aborts when the call ends.
 */
export const withinDeadline = async <T>(
  clock: Clock,
  millis: number,
  work: (late: AbortSignal) => PromiseLike<T>,
  signal?: AbortSignal,
): Promise<T | undefined> => {
  const late = new AbortController();
  const over = new AbortController();
  const ends = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]);
  const expired = clock.sleep(millis, ends).then(() => late.abort());
  try {
    return await Promise.race([work(late.signal), expired.then(() => undefined)]);
  } finally {
    over.abort();
  }
};
