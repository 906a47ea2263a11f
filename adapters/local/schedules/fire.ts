/** Runs one fire of a schedule: a `POST /cron`, with retries. */
import { Agent, request } from "undici";
import type { NewLogEntry } from "../../../core/domain/logs/entry.ts";
import type { CronJob } from "../../../core/domain/schedules/cron-job.ts";
import {
  attemptSeverity,
  isFailedAttempt,
  type LastFire,
  retryAt,
} from "../../../core/domain/schedules/fire-policy.ts";
import { type Instant, millisOf, timestampOf } from "../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../core/ports/system.ts";

export interface FireDeps {
  readonly clock: Clock;
  readonly log: (entry: NewLogEntry) => void;
  /** Stores the outcome of the latest attempt. */
  readonly note: (job: CronJob, fire: LastFire) => void;
  /** Returns the URL of the service, or undefined if the service or its schedule was deleted. */
  readonly urlOf: (job: CronJob) => string | undefined;
}

/**
 * Has no timeouts for the response, because a service may be silent for 30 minutes. Each fire has its own deadline.
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

const entryOf = (
  { owner, name, schedule }: CronJob,
  scheduled: Instant,
  attempt: { readonly number: number; readonly status: number | undefined; readonly millis: number },
  retry: Instant | undefined,
): NewLogEntry => {
  const { number, status, millis } = attempt;
  const failed = isFailedAttempt(status);
  const outcome = status === undefined ? "no response" : `status ${status}`;
  const next = retry === undefined ? (failed ? "; no more retries" : "") : `; next attempt at ${timestampOf(retry)}`;
  return {
    owner,
    service: name,
    logName: "platform",
    severity: attemptSeverity(status, retry),
    json: {
      event: "cron",
      message: `The schedule '${schedule.cron}' fired: ${outcome} after ${millis} ms${next}`,
      scheduled: timestampOf(scheduled),
      attempt: number,
      ...(status === undefined ? {} : { status }),
      latency_ms: millis,
    },
  };
};

/**
 * Sends requests until an attempt succeeds, the policy permits no more retries, the schedule is deleted, or `signal`
 * aborts.
 * @param nextFire the time of the schedule's next fire, which ends the retries
 */
export const fire = async (
  { clock, log, note, urlOf }: FireDeps,
  job: CronJob,
  scheduled: Instant,
  nextFire: Instant | undefined,
  signal: AbortSignal,
): Promise<void> => {
  for (let attempts = 1; !signal.aborted; attempts++) {
    const url = urlOf(job);
    if (url === undefined) return;
    const begun = performance.now();
    const status = await post(url, job, scheduled, signal);
    if (signal.aborted) return;
    const endedAt = clock.now();
    const retry = isFailedAttempt(status) ? retryAt({ attempts, endedAt, nextFire }) : undefined;
    const millis = Math.round(performance.now() - begun);
    log(entryOf(job, scheduled, { number: attempts, status, millis }, retry));
    note(job, { at: timestampOf(scheduled), status: status ?? null, attempts });
    if (retry === undefined) return;
    await clock.sleep(millisOf(retry) - millisOf(endedAt), signal);
  }
};
