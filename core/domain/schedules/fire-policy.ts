/**
 * The rules for a schedule's fires: which attempts fail, when to retry, and which fires to skip.
 */

import { fireLimits } from "../accounts/limits.ts";
import type { Severity } from "../logs/entry.ts";
import { type Instant, plusMillis, type Timestamp } from "../wire/instant.ts";

/** Returns whether an attempt failed: no response (undefined) or a 5xx. Any other response, even a 4xx, ends a fire. */
export const isFailedAttempt = (status: number | undefined): boolean =>
  status === undefined || (status >= 500 && status <= 599);

/** Returns whether a fire succeeded: only a 2xx counts. */
export const isSuccessfulFire = (status: number | null | undefined): boolean =>
  typeof status === "number" && status >= 200 && status <= 299;

/** Returns the severity of an attempt's log entry. */
export const attemptSeverity = (status: number | undefined, retry: Instant | undefined): Severity =>
  isSuccessfulFire(status) ? "INFO" : retry === undefined ? "ERROR" : "WARNING";

/** The latest fire of a schedule, with the result of its latest attempt. */
export interface LastFire {
  /** The scheduled time. */
  readonly at: Timestamp;
  /** The HTTP status; null if the service did not respond in time. */
  readonly status: number | null;
  readonly attempts: number;
  /** The id of a fire that a client requested. Absent: a scheduled fire. */
  readonly fireId?: string | undefined;
}

/** A fire whose latest attempt failed. */
export interface FailedFire {
  /** The number of attempts, including the first. */
  readonly attempts: number;
  /** When the latest attempt ended. */
  readonly endedAt: Instant;
  /** The next scheduled fire; undefined if no fire follows. */
  readonly nextFire: Instant | undefined;
}

/** Returns the time of the next retry, or undefined if no retries are left or the next fire comes first. */
export const retryAt = ({ attempts, endedAt, nextFire }: FailedFire): Instant | undefined => {
  const delay = fireLimits.retryDelays[attempts - 1];
  if (delay === undefined) return undefined;
  const at = plusMillis(endedAt, delay);
  return nextFire === undefined || at < nextFire ? at : undefined;
};

/** Returns the earliest scheduled time of a fire that is not too late. */
export const earliestInTime = (now: Instant): Instant => plusMillis(now, -fireLimits.lateness);

/** Returns whether a fire is too late and must be skipped, for example after the machine slept. */
export const isTooLate = (scheduled: Instant, now: Instant): boolean => scheduled < earliestInTime(now);

/**
 * Returns whether a client may request another fire of a schedule.
 * @param pending the number of the schedule's requested fires that have not ended
 */
export const mayRequestFire = (pending: number): boolean => pending < fireLimits.requested;

/** Returns the timeout of an attempt in seconds: the lower of the service's timeout and the provider's limit. */
export const attemptTimeout = (timeout: number, providerMax: number): number => Math.min(timeout, providerMax);
