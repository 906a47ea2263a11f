/** Lets one caller of a shared call stop waiting for it. */
import type { Unavailable } from "../../../core/errors.ts";
import { err, type Result, ResultAsync } from "../../../core/result.ts";

/** Returns the result of a call, or `error` as soon as `signal` aborts. The call continues for its other callers. */
export const untilAborted = <T>(
  result: Promise<Result<T, Unavailable>>,
  signal: AbortSignal | undefined,
  error: Unavailable,
): ResultAsync<T, Unavailable> => {
  if (signal === undefined) return new ResultAsync(result);
  const aborted = Promise.withResolvers<Result<T, Unavailable>>();
  const onAbort = () => aborted.resolve(err(error));
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort);
  return new ResultAsync(
    Promise.race([result, aborted.promise]).finally(() => signal.removeEventListener("abort", onAbort)),
  );
};
