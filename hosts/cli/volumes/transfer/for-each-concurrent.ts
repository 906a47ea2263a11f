/** How many objects are sent, fetched or deleted at once. */
const CONCURRENCY = 4;

/** Does the work of every item, a few at once. The first failure stops the others; it is thrown once all have ended. */
export const forEachConcurrent = async <T>(
  items: Iterable<T>,
  signal: AbortSignal,
  work: (item: T, signal: AbortSignal) => Promise<void>,
): Promise<void> => {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const failures: unknown[] = [];
  const queue = items[Symbol.iterator]();
  const lane = async () => {
    for (let next = queue.next(); next.done !== true && !either.aborted; next = queue.next())
      await work(next.value, either);
  };
  const guarded = async () => {
    try {
      await lane();
    } catch (error) {
      failures.push(error);
      failed.abort();
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, guarded));
  if (failures.length > 0) throw failures[0];
  signal.throwIfAborted();
};
