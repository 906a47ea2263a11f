/** Log entries for the attempts of fires. */
import type { NewLogEntry } from "../../../core/domain/logs/entry.ts";
import type { CronJob } from "../../../core/domain/schedules/cron-job.ts";
import { attemptSeverity, isFailedAttempt, type LastFire } from "../../../core/domain/schedules/fire-policy.ts";
import { type Instant, timestampOf } from "../../../core/domain/wire/instant.ts";

/**
 * Returns the log entry of a fire's latest attempt.
 * @param millis how long the attempt took
 * @param retry when the next attempt is due; undefined if no attempt follows
 */
export const fireEntry = (
  { owner, name, schedule }: CronJob,
  { at, status, attempts, fireId }: LastFire,
  millis: number,
  retry: Instant | undefined,
): NewLogEntry => {
  const failed = isFailedAttempt(status ?? undefined);
  const outcome = status === null ? "no response" : `status ${status}`;
  const next = retry === undefined ? (failed ? "; no more retries" : "") : `; next attempt at ${timestampOf(retry)}`;
  const requested = fireId === undefined ? "" : " on request";
  return {
    owner,
    service: name,
    logName: "platform",
    severity: attemptSeverity(status ?? undefined, retry),
    json: {
      event: "cron",
      message: `The schedule '${schedule.cron}' fired${requested}: ${outcome} after ${millis} ms${next}`,
      ...(fireId === undefined ? {} : { fire_id: fireId }),
      scheduled: at,
      attempt: attempts,
      ...(status === null ? {} : { status }),
      latency_ms: millis,
    },
  };
};
