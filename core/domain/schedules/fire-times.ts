/**
 * When a schedule fires: its expression read on the wall clocks of its zone, through every change of those clocks.
 *
 * There are two kinds of schedules, as in croner 11 and, nearly, in Vixie cron:
 * - One with a single time of day fires once on each of its dates. A time that is skipped when clocks are put forward
 *   fires at the first moment after the gap, if that is still the same date; one that is repeated when they are put
 *   back fires the first time.
 * - Any other fires whenever the clock on the wall shows one of its minutes: what is skipped is left out, what is
 *   repeated fires again, so that every half-hour stays every half-hour.
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

/** The first second on the wall, from this one on, that fires; undefined in the year 10000. */
const nextWallSecond = (fields: CronFields, from: number): number | undefined => {
  const minute = nextWallMinute(fields, Math.ceil(from / MINUTE));
  return minute === undefined ? undefined : minute * MINUTE;
};

/** The moment at which a time on the wall fires once; undefined where the whole rest of its date is skipped. */
const momentOf = (zone: string, wall: number): number | undefined => {
  // No zone is a day or more away from UTC.
  const [before, after] = [offsetAt(zone, wall - DAY), offsetAt(zone, wall + DAY)];
  const change = before === after ? undefined : clockChange(zone, wall - DAY, wall + DAY);
  if (change === undefined || wall - before < change) return wall - before;
  if (wall - after >= change) return wall - after;
  return dateOf(change + after) === dateOf(wall) ? change : undefined;
};

/** The next second of a schedule with a single time of day. */
const nextOnDates = (fields: CronFields, zone: string, after: number): number | undefined => {
  let wall = nextWallSecond(fields, after + offsetAt(zone, after));
  while (wall !== undefined) {
    const moment = momentOf(zone, wall);
    if (moment !== undefined && moment > after) return moment;
    wall = nextWallSecond(fields, wall + MINUTE);
  }
  return undefined;
};

/** The next second, from this one on, of a schedule that goes by the clock as it is. */
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
    // A change moves clocks by little more than a day, so further than two days from both ends nothing can fire.
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
 * The first fire strictly after a moment; undefined where there is none before the year 10000.
 * Throws a RangeError for a schedule that `readSchedule` would have refused.
 */
export const nextFire = (schedule: Schedule, after: Instant): Instant | undefined =>
  nextOf(fieldsOf(schedule), schedule.timezone, after);

/** The first `count` fires strictly after a moment, in order; fewer where the years end. Throws as `nextFire` does. */
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
