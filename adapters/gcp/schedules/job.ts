/**
 * Converts a schedule to a Cloud Scheduler job and back. The job is the only record of the schedule. Source:
 * google/cloud/scheduler/v1/{job,target}.proto.
 */
import type { protos } from "@google-cloud/scheduler";
import { fireLimits } from "../../../core/domain/accounts/limits.ts";
import type { CronJob } from "../../../core/domain/schedules/cron-job.ts";
import type { ScheduledService } from "../../../core/ports/scheduler.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { type GcpLocation, parentOf } from "../location.ts";
import { cloudCron } from "./cron-text.ts";

export type ProtoJob = protos.google.cloud.scheduler.v1.IJob;

/** Limits of an HTTP target's attempt, in seconds (`attempt_deadline`). */
const DEADLINE = { min: 15, max: 1800 } as const;

/** Maximum duration of a request, in seconds. */
export const maxFireSeconds = DEADLINE.max;

const TOKEN_HEADER = "X-Cron-Token";
const PATH = "/cron";

/** Contains the full digest, so that another account's job cannot have the same name. */
export const jobName = (location: GcpLocation, { owner, name }: ScheduledService): string =>
  `${parentOf(location)}/jobs/portside-${accountDigest(owner)}-${name}`;

/**
 * Data for which a Cloud Scheduler job has no field. The job's description contains it, with at most 500 characters
 * (job.proto).
 */
interface Notes {
  readonly portside: 1;
  readonly max_seconds: number;
  /** The client's expression, if Cloud Scheduler's form differs and the description has room. */
  readonly cron?: string;
}

const DESCRIPTION_CHARS = 500;

const notesOf = ({ schedule, maxSeconds }: CronJob): string => {
  const notes: Notes = { portside: 1, max_seconds: maxSeconds };
  const whole = JSON.stringify({ ...notes, cron: schedule.cron });
  const isNeeded = cloudCron(schedule.cron) !== schedule.cron && whole.length <= DESCRIPTION_CHARS;
  return isNeeded ? whole : JSON.stringify(notes);
};

const readNotes = (description: string | null | undefined): Notes | undefined => {
  try {
    const notes = JSON.parse(description ?? "") as Notes | null;
    return notes?.portside === 1 ? notes : undefined;
  } catch {
    return undefined;
  }
};

const seconds = (millis: number) => ({ seconds: Math.floor(millis / 1000), nanos: (millis % 1000) * 1_000_000 });

/** The core's retry policy for fires. Sets every field, so no default of Cloud Scheduler applies. */
const retryConfig = (): NonNullable<ProtoJob["retryConfig"]> => {
  const { retryDelays } = fireLimits;
  return {
    retryCount: retryDelays.length,
    minBackoffDuration: seconds(Math.min(...retryDelays)),
    maxBackoffDuration: seconds(Math.max(...retryDelays)),
    maxDoublings: retryDelays.length - 1,
    // 0 means unlimited: the retry count or the next fire ends the retries.
    maxRetryDuration: seconds(0),
  };
};

export const renderJob = (location: GcpLocation, job: CronJob): ProtoJob => ({
  name: jobName(location, job),
  description: notesOf(job),
  schedule: cloudCron(job.schedule.cron),
  timeZone: job.schedule.timezone,
  httpTarget: {
    uri: job.url + PATH,
    httpMethod: "POST",
    headers: { [TOKEN_HEADER]: job.token },
  },
  attemptDeadline: seconds(1000 * Math.min(Math.max(job.maxSeconds, DEADLINE.min), DEADLINE.max)),
  retryConfig: retryConfig(),
});

/** The fields that an update changes: all that `renderJob` sets, except the name. */
export const renderedFields = [
  "description",
  "schedule",
  "time_zone",
  "http_target",
  "attempt_deadline",
  "retry_config",
];

/** Returns null if the platform did not create the job. */
export const parseJob = ({ owner, name }: ScheduledService, job: ProtoJob): CronJob | null => {
  const notes = readNotes(job.description);
  const { uri, headers } = job.httpTarget ?? {};
  const token = Object.entries(headers ?? {}).find(([key]) => key.toLowerCase() === TOKEN_HEADER.toLowerCase())?.[1];
  if (notes === undefined || !uri?.endsWith(PATH) || token === undefined) return null;
  return {
    owner,
    name,
    schedule: { cron: notes.cron ?? job.schedule ?? "", timezone: job.timeZone ?? "UTC" },
    token,
    url: uri.slice(0, -PATH.length),
    maxSeconds: notes.max_seconds,
  };
};
