/** Work that may take so long and no longer. */
import type { Clock } from "../../ports/system.ts";

/** What the work comes to; undefined where it is late or `signal` aborts first, and then its own signal says so. */
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
