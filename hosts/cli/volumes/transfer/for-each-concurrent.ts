/** How many objects a command uploads, downloads or deletes concurrently. */
const CONCURRENCY = 4;

/** Calls `work` for every item, with bounded concurrency. Aborts the others after the first failure, and then throws it. */
export const forEachConcurrent = async <T>(
  items: Iterable<T>,
  signal: AbortSignal,
  work: (item: T, signal: AbortSignal) => Promise<void>,
): Promise<void> => {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const failures: unknown[] = [];
  const queue = items[Symbol.iterator]();
  const worker = async () => {
    for (let next = queue.next(); next.done !== true && !either.aborted; next = queue.next())
      await work(next.value, either);
  };
  const guarded = async () => {
    try {
      await worker();
    } catch (error) {
      failures.push(error);
      failed.abort();
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, guarded));
  if (failures.length > 0) throw failures[0];
  signal.throwIfAborted();
};
