/**
 * One call of a cloud's API: repeated with jitter while its errors pass by themselves and its time lasts, and with its
 * error in the port's words at the end. What an error means is said by the adapter, by its code, never by its message.
 */

import { millisOf } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { Clock, Logger } from "../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { UnusablePackage } from "../runtime/optional-package.ts";

/** What an error of a cloud means to whoever called. */
export type CallFault =
  /** Too many calls, or a service that is down: the same call may succeed soon. */
  | { readonly kind: "busy"; readonly retryAfterSeconds?: number }
  /** The platform's own credentials or rights; somebody has to act. */
  | { readonly kind: "refused" }
  /** A state that the caller knows what to make of: not there, there already, changed meanwhile, invalid. */
  | { readonly kind: "state"; readonly code: "not_found" | "exists" | "changed" | "invalid" };

/** Undefined: no error of the cloud, and so a bug, which is thrown on. */
export type FaultOf = (error: unknown) => CallFault | undefined;

export interface CallPolicy {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly faultOf: FaultOf;
  /** The cloud in words, for messages: `Google Cloud`. */
  readonly cloud: string;
  /** [0, 1); a test gives its own. */
  readonly random?: () => number;
}

export interface CallNeeds {
  /** The call for logs: `run.services.get`. */
  readonly what: string;
  /** Milliseconds in which it may be repeated. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

/** The cloud's answer of a state, with its error for logs. */
export interface CallState {
  readonly kind: "state";
  readonly code: Extract<CallFault, { kind: "state" }>["code"];
  readonly error: unknown;
}

const PATIENCE_MS = 10_000;
const FIRST_MS = 200;
const LONGEST_MS = 5000;
const REFUSED_RETRY_S = 60;
const BUSY_RETRY_S = 5;

const refused: CallFault = { kind: "refused" };

export const isCallState = (error: CallState | Unavailable): error is CallState => error.kind === "state";

export type ProviderCall = <T>(needs: CallNeeds, call: () => Promise<T>) => Promise<Result<T, CallState | Unavailable>>;

/** What the cloud wishes counts, where that is longer. */
const pauseOf = (fault: CallFault, millis: number): number =>
  Math.max(millis, (fault.kind === "busy" ? (fault.retryAfterSeconds ?? 0) : 0) * 1000);

export const providerCall = ({ clock, logger, faultOf, cloud, random = Math.random }: CallPolicy): ProviderCall => {
  const fail = (what: string, fault: Exclude<CallFault, { kind: "state" }>, error: unknown): Unavailable => {
    if (fault.kind === "busy")
      return unavailable(`${cloud} is busy or does not answer.`, fault.retryAfterSeconds ?? BUSY_RETRY_S, error);
    if (error instanceof UnusablePackage) {
      logger.error(error.message, { call: what });
      return unavailable(error.message, REFUSED_RETRY_S, error);
    }
    logger.error(`${cloud} refuses a call of this platform: look at its credentials and rights`, { call: what, error });
    return unavailable(`${cloud} refuses this platform's requests.`, REFUSED_RETRY_S, error);
  };
  const meaningOf: FaultOf = (error) => (error instanceof UnusablePackage ? refused : faultOf(error));
  return async ({ what, timeoutMs = PATIENCE_MS, signal }, call) => {
    const end = millisOf(clock.now()) + timeoutMs;
    for (let wait = FIRST_MS; ; wait = Math.min(wait * 2, LONGEST_MS)) {
      try {
        return ok(await call());
      } catch (error) {
        const fault = meaningOf(error);
        if (fault === undefined) throw error;
        if (fault.kind === "state") return err({ kind: "state", code: fault.code, error });
        const pause = pauseOf(fault, wait * (0.5 + random() / 2));
        const isLast = fault.kind === "refused" || signal?.aborted === true || millisOf(clock.now()) + pause > end;
        if (isLast) return err(fail(what, fault, error));
        await clock.sleep(pause, signal);
      }
    }
  };
};
