/**
 * Converts a cron job to EventBridge Scheduler schedules and back. The schedules contain the complete job and are its
 * only record. https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html
 */
import { createHash } from "node:crypto";
import { fireLimits } from "../../../core/domain/accounts/limits.ts";
import type { CronJob } from "../../../core/domain/schedules/cron-job.ts";
import { nextFires } from "../../../core/domain/schedules/fire-times.ts";
import { type Instant, millisOf } from "../../../core/domain/wire/instant.ts";
import type { ScheduledService } from "../../../core/ports/scheduler.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import type { SharedResources } from "../config.ts";
import { PLATFORM_STREAM } from "../logs/entry.ts";
import { streamPrefixOf } from "../logs/streams.ts";
import { parseJson } from "../state/parse-json.ts";
import { type DayRule, expressionsOf } from "./expression.ts";

/** Lambda's maximum timeout in seconds: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
export const functionSeconds = 900;

/** Maximum duration of a request in seconds. Leaves time for the function's own startup and shutdown. */
export const maxFireSeconds = 840;

/**
 * EventBridge Scheduler replaces this text with the scheduled time:
 * https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html
 */
export const SCHEDULED_TIME = "<aws.scheduler.scheduled-time>";

/** The input of the function (`cron-function.cjs`). */
export interface Fire {
  readonly portside: 1;
  readonly url: string;
  readonly token: string;
  /** The scheduled time, RFC 3339. */
  readonly time: string;
  /** The client's expression. */
  readonly cron: string;
  readonly zone: string;
  /** Maximum duration of a request, in seconds. */
  readonly seconds: number;
  /** Milliseconds before each retry. */
  readonly delays: readonly number[];
  /** The shortest interval between fires, in seconds. The function does not retry a fire after the next fire is due. */
  readonly gap: number;
  readonly log: { readonly group: string; readonly stream: string };
  readonly days?: DayRule;
}

/** The fields of a schedule, with the API's names. */
export interface RenderedSchedule {
  readonly Name: string;
  readonly GroupName: string;
  readonly ScheduleExpression: string;
  readonly ScheduleExpressionTimezone: string;
  readonly State: "ENABLED";
  readonly FlexibleTimeWindow: { readonly Mode: "OFF" };
  readonly Target: {
    readonly Arn: string;
    readonly RoleArn: string;
    readonly Input: string;
    readonly RetryPolicy: { readonly MaximumRetryAttempts: number; readonly MaximumEventAgeInSeconds: number };
  };
}

/**
 * Returns the names of a deployment's schedules. Each contains a digest of the account and the deployment's name,
 * because EventBridge Scheduler limits names to 64 characters and a deployment's name has up to 49. The second name is
 * for expressions that need two schedules (`expression.ts`).
 */
export const scheduleNames = ({ owner, name }: ScheduledService): readonly [string, string] => {
  const digest = createHash("sha256")
    .update(`${accountDigest(owner)}/${name}`)
    .digest("hex")
    .slice(0, 40);
  return [`portside-${digest}`, `portside-${digest}-weekday`];
};

/** How many fires to compare when looking for the shortest interval. */
const COMPARED_FIRES = 500;
const DAY_SECONDS = 86_400;

const gapOf = ({ schedule }: CronJob, now: Instant): number => {
  const fires = nextFires(schedule, now, COMPARED_FIRES).map((fire) => millisOf(fire) / 1000);
  const gaps = fires.slice(1).map((fire, index) => fire - (fires[index] as number));
  return Math.min(DAY_SECONDS, ...gaps);
};

/**
 * The core's retry policy for fires. Sets both fields, because EventBridge Scheduler by default retries up to 185
 * times within a day (API_RetryPolicy).
 */
const retryPolicy = {
  MaximumRetryAttempts: fireLimits.retryDelays.length,
  MaximumEventAgeInSeconds: fireLimits.lateness / 1000,
} as const;

type ScheduleResources = Pick<SharedResources, "cronFunctionArn" | "schedulerRoleArn" | "logGroup" | "scheduleGroup">;

/**
 * Returns one schedule, or two if the expression needs them (`expression.ts`).
 *
 * @param now where the search for the shortest interval between fires begins
 */
export const renderSchedules = (
  resources: ScheduleResources,
  job: CronJob,
  now: Instant,
): readonly RenderedSchedule[] => {
  const names = scheduleNames(job);
  const fire: Omit<Fire, "days"> = {
    portside: 1,
    url: job.url,
    token: job.token,
    time: SCHEDULED_TIME,
    cron: job.schedule.cron,
    zone: job.schedule.timezone,
    seconds: job.maxSeconds,
    delays: fireLimits.retryDelays,
    gap: gapOf(job, now),
    log: { group: resources.logGroup, stream: streamPrefixOf(job.owner, job.name) + PLATFORM_STREAM },
  };
  return expressionsOf(job.schedule.cron).flatMap((expression, index) =>
    expression === undefined
      ? []
      : {
          Name: names[index] as string,
          GroupName: resources.scheduleGroup,
          ScheduleExpression: expression.text,
          ScheduleExpressionTimezone: job.schedule.timezone,
          State: "ENABLED",
          FlexibleTimeWindow: { Mode: "OFF" },
          Target: {
            Arn: resources.cronFunctionArn,
            RoleArn: resources.schedulerRoleArn,
            Input: JSON.stringify(expression.days === undefined ? fire : { ...fire, days: expression.days }),
            RetryPolicy: retryPolicy,
          },
        },
  );
};

/** Parses the function's input. Returns undefined if Portside did not create the schedule. */
const fireOf = (input: string | undefined): Fire | undefined => {
  const fire = parseJson(input ?? "") as Fire | null | undefined;
  return fire?.portside === 1 ? fire : undefined;
};

/** Returns null if Portside did not create the schedule. */
export const parseSchedule = ({ owner, name }: ScheduledService, input: string | undefined): CronJob | null => {
  const fire = fireOf(input);
  if (fire === undefined) return null;
  const { cron, zone: timezone, token, url, seconds: maxSeconds } = fire;
  return { owner, name, schedule: { cron, timezone }, token, url, maxSeconds };
};
