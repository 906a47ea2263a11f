/**
 * Computes when a schedule fires. Its cron expression refers to local time in its time zone, where clocks may change.
 *
 * As in croner 11, and almost as in Vixie cron, there are two kinds of schedules:
 * - A schedule with a single time of day fires once on each of its dates. If clocks skip that time, it fires at the
 *   end of the gap, unless the gap ends on a different date. If clocks repeat that time, it fires only the first time.
 * - Any other schedule fires whenever the wall clock shows one of its minutes. It does not fire at skipped times, and
 *   it fires again at repeated times. A half-hourly schedule thus keeps its interval when clocks change by an hour.
 *
 * https://github.com/hexagon/croner and https://manpages.debian.org/cron.8
 */

import { type Instant, instantOfSeconds, LAST_SECOND, secondsOf } from "../wire/instant.ts";
import { nextWallMinute } from "./cron-calendar.ts";
import { type CronFields, parseCron, type Schedule } from "./schedule.ts";
import { clockChange, offsetAt } from "./time-zone.ts";

const MINUTE = 60;
const DAY = 86_400;

const dateOf = (wallSecond: number): number => Math.floor(wallSecond / DAY);

/** Returns the first matching wall-clock second at or after `from`, or undefined if none matches before year 10000. */
const nextWallSecond = (fields: CronFields, from: number): number | undefined => {
  const minute = nextWallMinute(fields, Math.ceil(from / MINUTE));
  return minute === undefined ? undefined : minute * MINUTE;
};

/**
 * Returns the moment of a wall-clock time: the first if clocks repeat the time, or the end of the gap if they skip it.
 * Returns undefined if the gap ends on a different date.
 */
const momentOf = (zone: string, wall: number): number | undefined => {
  // The offset of every zone is less than a day.
  const [before, after] = [offsetAt(zone, wall - DAY), offsetAt(zone, wall + DAY)];
  const change = before === after ? undefined : clockChange(zone, wall - DAY, wall + DAY);
  if (change === undefined || wall - before < change) return wall - before;
  if (wall - after >= change) return wall - after;
  return dateOf(change + after) === dateOf(wall) ? change : undefined;
};

/** Returns the first second after `after` at which a schedule with a single time of day fires. */
const nextOnDates = (fields: CronFields, zone: string, after: number): number | undefined => {
  let wall = nextWallSecond(fields, after + offsetAt(zone, after));
  while (wall !== undefined) {
    const moment = momentOf(zone, wall);
    if (moment !== undefined && moment > after) return moment;
    wall = nextWallSecond(fields, wall + MINUTE);
  }
  return undefined;
};

/** Returns the first second at or after `from` at which any other schedule fires. */
const nextOnClock = (fields: CronFields, zone: string, from: number): number | undefined => {
  let at = from;
  while (true) {
    const offset = offsetAt(zone, at);
    const wall = nextWallSecond(fields, at + offset);
    if (wall === undefined) return undefined;
    const moment = wall - offset;
    const near = Math.min(moment, at + 2 * DAY);
    const change = clockChange(zone, at, near);
    if (change === undefined && near === moment) return moment;
    // No change moves clocks by much more than a day, so the next fire is at most two days earlier than `moment`.
    at = change ?? Math.max(near, moment - 2 * DAY);
  }
};

const fieldsOf = ({ cron }: Schedule): CronFields => {
  const fields = parseCron(cron);
  if (typeof fields === "string") throw new RangeError(`'${cron}' is not a cron expression: ${fields}`);
  return fields;
};

const nextOf = (fields: CronFields, zone: string, after: Instant): Instant | undefined => {
  const second = secondsOf(after);
  const onceADay = fields.hours.size === 1 && fields.minutes.size === 1;
  const next = onceADay ? nextOnDates(fields, zone, second) : nextOnClock(fields, zone, second + 1);
  return next === undefined || next > LAST_SECOND ? undefined : instantOfSeconds(next);
};

/**
 * Returns the first fire strictly after `after`, or undefined if the schedule does not fire before the year 10000.
 * Throws a RangeError if the expression or the time zone is invalid.
 */
export const nextFire = (schedule: Schedule, after: Instant): Instant | undefined =>
  nextOf(fieldsOf(schedule), schedule.timezone, after);

/** Returns the first `count` fires after `after`, in order and before the year 10000. Throws like `nextFire`. */
export const nextFires = (schedule: Schedule, after: Instant, count: number): Instant[] => {
  const fields = fieldsOf(schedule);
  const fires: Instant[] = [];
  let last: Instant | undefined = after;
  while (fires.length < count) {
    last = nextOf(fields, schedule.timezone, last);
    if (last === undefined) break;
    fires.push(last);
  }
  return fires;
};
