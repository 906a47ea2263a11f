/**
 * A schedule as schedules of EventBridge Scheduler, and back. `parse(render(job))` is the job again: what is set there is
 * the only record. https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html
 */
import { createHash } from "node:crypto";
import type { CronJob } from "../../../core/domain/cron-job.ts";
import { nextFires } from "../../../core/domain/fire-times.ts";
import { type Instant, millisOf } from "../../../core/domain/instant.ts";
import { fireLimits } from "../../../core/domain/limits.ts";
import type { ScheduledService } from "../../../core/ports/scheduler.ts";
import { accountDigest } from "../../shared/account-digest.ts";
import type { SharedParts } from "../config.ts";
import { streamPrefixOf } from "../log-streams.ts";
import { PLATFORM_STREAM } from "../logs/entry.ts";
import { type DayRule, expressionsOf } from "./expression.ts";

/** Seconds that a function may run: https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
export const functionSeconds = 900;

/** The longest run of a fire, in seconds: what is left of the function's own time is for its start and its end. */
export const maxFireSeconds = 840;

/** Schedules of the platform; the template makes the group. */
export const SCHEDULE_GROUP = "portside";

/** Replaced as the schedule fires: .../scheduler/latest/UserGuide/managing-schedule-context-attributes.html */
export const SCHEDULED_TIME = "<aws.scheduler.scheduled-time>";

/** What the function gets (`cron-function.cjs`). */
export interface Fire {
  readonly portside: 1;
  readonly url: string;
  readonly token: string;
  /** RFC 3339; the scheduled time. */
  readonly time: string;
  /** As the client wrote it. */
  readonly cron: string;
  readonly zone: string;
  /** The longest run, in seconds. */
  readonly seconds: number;
  /** Milliseconds before each retry. */
  readonly delays: readonly number[];
  /** Seconds from a fire to the next one, at least: a retry that would begin later is left out. */
  readonly gap: number;
  readonly log: { readonly group: string; readonly stream: string };
  readonly days?: DayRule;
}

/** What is sent of a schedule, by the names of the API. */
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
 * Names have 64 characters at most, a deployment's own up to 49: so a digest, of the account's digest whole.
 * @param part of what names both days, the second schedule is another one
 */
export const scheduleNames = ({ owner, name }: ScheduledService): readonly [string, string] => {
  const digest = createHash("sha256")
    .update(`${accountDigest(owner)}/${name}`)
    .digest("hex")
    .slice(0, 40);
  return [`portside-${digest}`, `portside-${digest}-weekday`];
};

/** Fires that are looked at for the shortest time between two. */
const LOOKED_AT = 500;
const DAY_SECONDS = 86_400;

const gapOf = ({ schedule }: CronJob, now: Instant): number => {
  const fires = nextFires(schedule, now, LOOKED_AT).map((fire) => millisOf(fire) / 1000);
  const gaps = fires.slice(1).map((fire, index) => fire - (fires[index] as number));
  return Math.min(DAY_SECONDS, ...gaps);
};

/** The core's fire policy, in full: left to itself, Scheduler tries 185 times within a day (API_RetryPolicy). */
const retryPolicy = {
  MaximumRetryAttempts: fireLimits.retryDelays.length,
  MaximumEventAgeInSeconds: fireLimits.lateness / 1000,
} as const;

type Parts = Pick<SharedParts, "cronFunctionArn" | "schedulerRoleArn" | "logGroup">;

/** One schedule, or two. @param now from when on the times between fires are looked at */
export const renderSchedules = (parts: Parts, job: CronJob, now: Instant): readonly RenderedSchedule[] => {
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
    log: { group: parts.logGroup, stream: streamPrefixOf(job.owner, job.name) + PLATFORM_STREAM },
  };
  return expressionsOf(job.schedule.cron).flatMap((expression, index) =>
    expression === undefined
      ? []
      : {
          Name: names[index] as string,
          GroupName: SCHEDULE_GROUP,
          ScheduleExpression: expression.text,
          ScheduleExpressionTimezone: job.schedule.timezone,
          State: "ENABLED",
          FlexibleTimeWindow: { Mode: "OFF" },
          Target: {
            Arn: parts.cronFunctionArn,
            RoleArn: parts.schedulerRoleArn,
            Input: JSON.stringify(expression.days === undefined ? fire : { ...fire, days: expression.days }),
            RetryPolicy: retryPolicy,
          },
        },
  );
};

/** What the function is told; undefined where the schedule was not made here. */
const fireOf = (input: string | undefined): Fire | undefined => {
  try {
    const fire = JSON.parse(input ?? "") as Fire | null;
    return fire?.portside === 1 ? fire : undefined;
  } catch {
    return undefined;
  }
};

/** Null for a schedule that was not made here. */
export const parseSchedule = ({ owner, name }: ScheduledService, input: string | undefined): CronJob | null => {
  const fire = fireOf(input);
  if (fire === undefined) return null;
  const { cron, zone: timezone, token, url, seconds: maxSeconds } = fire;
  return { owner, name, schedule: { cron, timezone }, token, url, maxSeconds };
};
