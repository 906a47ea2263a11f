/** How many objects a command uploads, downloads or deletes concurrently. */
const CONCURRENCY = 4;

/**
 * Calls `work` for every item, with bounded concurrency. After the first failure, aborts the other calls and then
 * throws the failure.
 */
export const forEachConcurrent = async <T>(
  items: readonly T[],
  signal: AbortSignal,
  work: (item: T, signal: AbortSignal) => Promise<void>,
): Promise<void> => {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const failures: unknown[] = [];
  const queue = items.values();
  const worker = async () => {
    try {
      for (const item of queue) {
        if (either.aborted) return;
        await work(item, either);
      }
    } catch (error) {
      failures.push(error);
      failed.abort();
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  if (failures.length > 0) throw failures[0];
  signal.throwIfAborted();
};
