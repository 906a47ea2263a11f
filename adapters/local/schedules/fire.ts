/** Makes one attempt of a schedule's fire: a `POST /cron`. */
import { Agent, request } from "undici";
import type { NewLogEntry } from "../../../core/domain/logs/entry.ts";
import type { CronJob } from "../../../core/domain/schedules/cron-job.ts";
import { isFailedAttempt, type LastFire, retryAt } from "../../../core/domain/schedules/fire-policy.ts";
import { nextFire } from "../../../core/domain/schedules/fire-times.ts";
import { type Instant, timestampOf } from "../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { fireEntry } from "../../shared/schedules/fire-entry.ts";

/** A fire that waits for its next attempt. */
export interface PendingFire {
  /** The scheduled time. */
  readonly scheduled: Instant;
  /** The number of attempts so far. */
  readonly attempts: number;
  /** When the next attempt is due. */
  readonly at: Instant;
  /** The id of a fire that a client requested; absent for a scheduled fire. */
  readonly fireId?: string | undefined;
}

/** The result of an attempt. */
export interface Attempt {
  readonly entry: NewLogEntry;
  readonly fire: LastFire;
  /** The fire's next attempt; undefined if the response ends the fire, or if the policy permits no more retries. */
  readonly retry: PendingFire | undefined;
}

/**
 * Has no timeouts for the response, because a service may be silent for 30 minutes. Each attempt has its own deadline.
 */
const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 10_000 } });

/** Returns the status of the response, or undefined if the service did not complete a response before the deadline. */
const post = async (
  url: string,
  { token, maxSeconds }: CronJob,
  scheduled: Instant,
  ended: AbortSignal,
): Promise<number | undefined> => {
  const signal = AbortSignal.any([ended, AbortSignal.timeout(maxSeconds * 1000)]);
  const headers = { "x-cron-token": token, "x-cron-time": timestampOf(scheduled), "user-agent": "portside-cron" };
  try {
    const response = await request(`${url}/cron`, { method: "POST", headers, dispatcher: agent, signal });
    await response.body.dump({ limit: Number.MAX_SAFE_INTEGER, signal });
    return response.statusCode;
  } catch {
    return undefined;
  }
};

/** Makes the next attempt of a fire. If `ended` aborts, the attempt counts as an attempt without a response. */
export const attemptFire = async (
  { now }: Pick<Clock, "now">,
  url: string,
  job: CronJob,
  pending: PendingFire,
  ended: AbortSignal,
): Promise<Attempt> => {
  const { scheduled, attempts, fireId } = pending;
  const requested = fireId === undefined ? {} : { fireId };
  const number = attempts + 1;
  const begun = performance.now();
  const status = await post(url, job, scheduled, ended);
  const endedAt = now();
  const policy = { attempts: number, endedAt, nextFire: nextFire(job.schedule, scheduled) };
  const at = isFailedAttempt(status) ? retryAt(policy) : undefined;
  const millis = Math.round(performance.now() - begun);
  const fire: LastFire = { at: timestampOf(scheduled), status: status ?? null, attempts: number, ...requested };
  return {
    entry: fireEntry(job, fire, millis, at),
    fire,
    retry: at === undefined ? undefined : { scheduled, attempts: number, at, ...requested },
  };
};
