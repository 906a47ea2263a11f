/** The errors of calls that a cloud's secret store rejects. */
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { Logger } from "../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { type CallState, isCallState } from "../calls/provider-call.ts";

export interface RejectedCallsOptions {
  /** The name of the cloud's secret store, for messages. */
  readonly store: string;
  readonly logger: Pick<Logger, "error">;
  /** Returns what a client can do about a rejection, or undefined if only the operator can find the cause. */
  readonly explain?: (cause: unknown) => string | undefined;
}

export const createRejectedCalls = ({ store, logger, explain }: RejectedCallsOptions) => {
  /** Logs the cause, and returns an error without it for the client. */
  const rejected = (cause: unknown): Unavailable => {
    const message = `${store} rejected the request`;
    logger.error(message, { error: cause });
    const words = explain?.(cause) ?? `${message}. The operator can find the reason in the server's log.`;
    return unavailable(words, 60, cause);
  };

  /** For `orElse`: treats a state that the caller does not handle as a rejection. */
  const asUnavailable = (error: CallState | Unavailable): Result<never, Unavailable> =>
    err(isCallState(error) ? rejected(error.error) : error);

  /** For `orElse`: returns the value if the secret or its version does not exist. */
  const ifAbsent =
    <T>(value: T) =>
    (error: CallState | Unavailable): Result<T, Unavailable> =>
      isCallState(error) && error.code === "not_found" ? ok(value) : asUnavailable(error);

  return { rejected, asUnavailable, ifAbsent };
};
