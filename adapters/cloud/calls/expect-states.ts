/** Converts the expected error states of a cloud call to values. */
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import { err, ok, type Result, type ResultAsync } from "../../../core/result.ts";
import { type CallState, isCallState } from "./provider-call.ts";

/** The result of a call that returns its expected states as values. */
export type ApiResult<T> = ResultAsync<T, Unavailable>;

export type State = CallState["code"];

/** For `orElse`: returns the expected states as values. Fails with `unavailable` for any other state. */
export const expectStates =
  (message: string) =>
  <S extends State>(...expected: readonly S[]) =>
  (error: CallState | Unavailable): Result<S, Unavailable> => {
    if (!isCallState(error)) return err(error);
    const state = expected.find((one) => one === error.code);
    return state === undefined ? err(unavailable(message, 5, error.error)) : ok(state);
  };
