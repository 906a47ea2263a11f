/**
 * Calls a cloud's API. Retries transient errors with jitter until the timeout. Returns a state of the resource, such as
 * `not_found`, as a `CallState`, and any other known error as `Unavailable`. The adapter classifies errors by their
 * codes, never by their messages.
 */

import { millisOf } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { Clock, Logger } from "../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { UnusablePackage } from "../../shared/runtime/optional-package.ts";
import { type CallFault, refused } from "./faults.ts";

/** Classifies an error of the cloud. Returns undefined for other exceptions, which the call rethrows. */
export type FaultOf = (error: unknown) => CallFault | undefined;

export interface CallPolicy {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly faultOf: FaultOf;
  /** The name of the cloud for messages: `Google Cloud`. */
  readonly cloud: string;
  /** Returns a number in [0, 1). Tests pass their own. */
  readonly random?: () => number;
}

export interface CallNeeds {
  /** The name of the call for logs: `run.services.get`. */
  readonly what: string;
  /** How long to retry the call, in milliseconds. */
  readonly timeoutMs?: number;
  /** How long the call may wait for the cloud's rate limit, in milliseconds; defaults to `timeoutMs`. */
  readonly turnMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A `state` fault, with the original error for logs. */
export interface CallState {
  readonly kind: "state";
  readonly code: Extract<CallFault, { kind: "state" }>["code"];
  readonly error: unknown;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const FIRST_MS = 200;
const LONGEST_MS = 5000;
const REFUSED_RETRY_S = 60;
const BUSY_RETRY_S = 5;

export const isCallState = (error: CallState | Unavailable): error is CallState => error.kind === "state";

export type ProviderCall = <T>(needs: CallNeeds, call: () => Promise<T>) => Promise<Result<T, CallState | Unavailable>>;

/** Returns the longer of `millis` and the pause that the cloud requests. */
const pauseOf = (fault: CallFault, millis: number): number =>
  Math.max(millis, (fault.kind === "busy" ? (fault.retryAfterSeconds ?? 0) : 0) * 1000);

export const providerCall = ({ clock, logger, faultOf, cloud, random = Math.random }: CallPolicy): ProviderCall => {
  const fail = (what: string, fault: Exclude<CallFault, { kind: "state" }>, error: unknown): Unavailable => {
    if (fault.kind === "busy")
      return unavailable(
        `${cloud} is busy or does not respond. Try again.`,
        fault.retryAfterSeconds ?? BUSY_RETRY_S,
        error,
      );
    if (error instanceof UnusablePackage) {
      logger.error(error.message, { call: what });
      return unavailable(error.message, REFUSED_RETRY_S, error);
    }
    logger.error(`${cloud} rejected a call; check the platform's credentials and permissions`, { call: what, error });
    return unavailable(
      `${cloud} rejects this platform's requests. The operator can find the reason in the server's log.`,
      REFUSED_RETRY_S,
      error,
    );
  };
  const meaningOf: FaultOf = (error) => (error instanceof UnusablePackage ? refused : faultOf(error));
  return async ({ what, timeoutMs = DEFAULT_TIMEOUT_MS, signal }, call) => {
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
