/** Runs calls with limited concurrency. */
import { err, ok, type Result, ResultAsync } from "../../../core/result.ts";

/**
 * Runs `work` on all items, and returns the results in the order of the items. After the first error, starts no more
 * work, waits for the running work, and returns the error.
 */
export const inParallel = <T, R, E>(
  all: readonly T[],
  concurrency: number,
  work: (one: T) => PromiseLike<Result<R, E>>,
): ResultAsync<R[], E> => {
  const waiting = all.entries();
  const results: R[] = [];
  const failures: E[] = [];
  const worker = async (): Promise<void> => {
    for (const [at, one] of waiting) {
      const done = await work(one);
      if (done.isErr()) failures.push(done.error);
      else results[at] = done.value;
      if (failures.length > 0) return;
    }
  };
  const workers = Promise.all(Array.from({ length: Math.min(concurrency, all.length) }, worker));
  return ResultAsync.fromSafePromise(workers).andThen(() => {
    const [failure] = failures;
    return failure === undefined ? ok(results) : err(failure);
  });
};
