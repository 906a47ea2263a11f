/**
 * What becomes of a fire of a schedule: it is made at least once, tried again where it failed, and left
 * out where it is found too late.
 */

import { fireLimits } from "../accounts/limits.ts";
import type { Severity } from "../logs/entry.ts";
import { type Instant, plusMillis, type Timestamp } from "../wire/instant.ts";

/** Whether an attempt failed: no answer (undefined), or a 5xx. Any other answer, a 4xx too, ends the fire. */
export const isFailedAttempt = (status: number | undefined): boolean =>
  status === undefined || (status >= 500 && status <= 599);

/** Whether the service did what the fire asked: any answer but a 2xx says that it did not. */
export const isSuccessfulFire = (status: number | null | undefined): boolean =>
  typeof status === "number" && status >= 200 && status <= 299;

/** The severity of an attempt's log entry. */
export const attemptSeverity = (status: number | undefined, retry: Instant | undefined): Severity =>
  isSuccessfulFire(status) ? "INFO" : retry === undefined ? "ERROR" : "WARNING";

/** The latest fire of a schedule, as its latest attempt ended. */
export interface LastFire {
  /** The scheduled time. */
  readonly at: Timestamp;
  /** The status of the answer; null if none came in time. */
  readonly status: number | null;
  readonly attempts: number;
}

/** A fire whose latest attempt has failed. */
export interface FailedFire {
  /** How many attempts were made, the first one included. */
  readonly attempts: number;
  /** When the latest attempt ended. */
  readonly endedAt: Instant;
  /** When the schedule fires next; undefined where it does not. */
  readonly nextFire: Instant | undefined;
}

/** When a failed fire is tried again; undefined where its retries are used up or the next fire comes first. */
export const retryAt = ({ attempts, endedAt, nextFire }: FailedFire): Instant | undefined => {
  const delay = fireLimits.retryDelays[attempts - 1];
  if (delay === undefined) return undefined;
  const at = plusMillis(endedAt, delay);
  return nextFire === undefined || at < nextFire ? at : undefined;
};

/** Whether a fire is left out because the process was busy or the machine slept; missed fires are not replayed. */
export const isTooLate = (scheduled: Instant, now: Instant): boolean =>
  now > plusMillis(scheduled, fireLimits.lateness);

/** The longest run of one attempt, in seconds: the service's timeout, and what the provider allows a fire. */
export const longestRun = (timeout: number, providerMost: number): number => Math.min(timeout, providerMost);
