/**
 * Formats the times when a schedule fires, in the schedule's time zone. Computes them locally with the platform's rule.
 */
import type { Deployment } from "../../../core/domain/deploy/deployment.ts";
import { isSuccessfulFire } from "../../../core/domain/schedules/fire-policy.ts";
import { nextFires } from "../../../core/domain/schedules/fire-times.ts";
import type { Schedule } from "../../../core/domain/schedules/schedule.ts";
import { offsetAt } from "../../../core/domain/schedules/time-zone.ts";
import {
  type Instant,
  instantOfMillis,
  instantOfSeconds,
  secondsOf,
  splitInstant,
} from "../../../core/domain/wire/instant.ts";
import { paint } from "../terminal/colour.ts";
import type { Io } from "../terminal/io.ts";
import { ago } from "../terminal/table.ts";

/** `2026-11-22 09:00` */
const minuteOn = (zone: string, instant: Instant): string => {
  const second = secondsOf(instant);
  const wall = splitInstant(instantOfSeconds(second + offsetAt(zone, second)));
  return wall.seconds.slice(0, 16).replace("T", " ");
};

/** Returns the next fires. Empty if this machine does not support the time zone, although the platform may. */
const firesOf = (schedule: Schedule, count: number, now: number): string[] => {
  try {
    return nextFires(schedule, instantOfMillis(now), count).map((fire) => minuteOn(schedule.timezone, fire));
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
};

/** `2026-11-22 09:00 Europe/Paris`, or `-`. */
export const formatNextFire = (schedule: Schedule | null, now = Date.now()): string => {
  const [fire] = schedule === null ? [] : firesOf(schedule, 1, now);
  return schedule === null || fire === undefined ? "-" : `${fire} ${schedule.timezone}`;
};

/** `status 404, 3 min ago`, or `-`. */
export const formatLastFire = (io: Io, { cron }: Pick<Deployment, "cron">): string => {
  const last = cron?.last ?? null;
  if (last === null) return "-";
  const outcome = last.status === null ? "no answer" : `status ${last.status}`;
  return `${paint(io, isSuccessfulFire(last.status) ? "green" : "red", outcome)}, ${ago(last.at)} ago`;
};

const SHOWN = 5;

/** `2026-11-22 09:00, 2026-11-23 09:00, … (Europe/Paris)`; undefined if there is no next fire. */
export const formatNextFires = (schedule: Schedule, now = Date.now()): string | undefined => {
  const fires = firesOf(schedule, SHOWN, now);
  return fires.length === 0 ? undefined : `${fires.join(", ")} (${schedule.timezone})`;
};
