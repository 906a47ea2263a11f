/** Converts exceptions, which are bugs, to failures. */
import { type Internal, internal } from "../../errors.ts";
import { err, type Result } from "../../result.ts";

/** Runs `work`. Fails with `internal` if `work` throws. The cause is for the log only. */
export const catchBugs = async <T, E>(work: () => PromiseLike<Result<T, E>>): Promise<Result<T, E | Internal>> => {
  try {
    const result: Result<T, E | Internal> = await work();
    return result;
  } catch (cause) {
    return err(internal("The control plane failed because of a bug.", cause));
  }
};
