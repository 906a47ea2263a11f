/**
 * Finds the times of a cron expression in the calendar, without a time zone. Times are minutes of the wall clock since
 * 1970-01-01 00:00 local time.
 */

import { civilFromDays, daysFromCivil, daysInMonth } from "../wire/instant.ts";
import type { CronFields } from "./schedule.ts";

const DAY_MINUTES = 1440;
const LAST_YEAR = 9999;

/** 1970-01-01 was a Thursday. */
const weekdayOf = (day: number): number => (((day + 4) % 7) + 7) % 7;

/** Vixie cron's rule: if either day field begins with `*`, both must match; otherwise a match of one is enough. */
const isDay = (fields: CronFields, dayOfMonth: number, weekday: number): boolean => {
  const [byDay, byWeekday] = [fields.days.has(dayOfMonth), fields.weekdays.has(weekday)];
  return fields.anyDay || fields.anyWeekday ? byDay && byWeekday : byDay || byWeekday;
};

/** Returns the first day on or after `from` on which the schedule fires, in days since 1970-01-01. */
const nextDay = (fields: CronFields, from: number): number | undefined => {
  let { year, month, day } = civilFromDays(from);
  while (year <= LAST_YEAR) {
    if (fields.months.has(month)) {
      const beforeFirst = daysFromCivil(year, month, 1) - 1;
      for (; day <= daysInMonth(year, month); day += 1)
        if (isDay(fields, day, weekdayOf(beforeFirst + day))) return beforeFirst + day;
    }
    day = 1;
    year += month === 12 ? 1 : 0;
    month = (month % 12) + 1;
  }
  return undefined;
};

/** Returns the first time of day at or after `from` at which the schedule fires, in minutes since midnight. */
const nextTime = ({ hours, minutes }: CronFields, from: number): number | undefined => {
  const fromHour = Math.floor(from / 60);
  for (let hour = fromHour; hour < 24; hour += 1)
    if (hours.has(hour))
      for (let minute = hour === fromHour ? from % 60 : 0; minute < 60; minute += 1)
        if (minutes.has(minute)) return hour * 60 + minute;
  return undefined;
};

/** Returns the first wall-clock minute at or after `from` at which the schedule fires; undefined if it never fires. */
export const nextWallMinute = (fields: CronFields, from: number): number | undefined => {
  const today = Math.floor(from / DAY_MINUTES);
  const day = nextDay(fields, today);
  if (day === undefined) return undefined;
  const time = nextTime(fields, day === today ? from - today * DAY_MINUTES : 0);
  return time === undefined ? nextWallMinute(fields, (today + 1) * DAY_MINUTES) : day * DAY_MINUTES + time;
};
