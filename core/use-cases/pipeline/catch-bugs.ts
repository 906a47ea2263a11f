/** Turns an asynchronous piece of work into a `ResultAsync`; an exception in it is a bug and becomes `internal`. */
import { type Internal, internal } from "../../errors.ts";
import { err, type Result, ResultAsync } from "../../result.ts";

export const catchBugs = <T, E>(work: () => Promise<Result<T, E>>): ResultAsync<T, E | Internal> =>
  new ResultAsync<T, E | Internal>(
    work().catch((cause: unknown) => err<T, E | Internal>(internal("The control plane met a bug of its own.", cause))),
  );
