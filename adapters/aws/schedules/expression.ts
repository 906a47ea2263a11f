/**
 * Converts a five-field cron expression to EventBridge Scheduler's six fields: minutes, hours, day of month, month, day
 * of week (1 to 7, Sunday first) and year. One of the two day fields must be `?`.
 * https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html#cron-based
 *
 * An expression that restricts both day fields becomes two schedules if either field may match. If both must match, it
 * becomes one schedule with a condition.
 */
import { type CronFields, dateOccurs, parseCron } from "../../../core/domain/schedules/schedule.ts";

/**
 * Restricts the fires of a weekday schedule by day of the month. `only` lists the allowed days. `not` lists the days
 * that the other schedule covers.
 */
export type DayRule = { readonly only: readonly number[] } | { readonly not: readonly number[] };

export interface Expression {
  readonly text: string;
  readonly days?: DayRule;
}

/** Formats the numbers as the shortest list of ranges, or as `*` if the list is complete. */
const listOf = (values: ReadonlySet<number>, all: number, shift = 0): string => {
  if (values.size === all) return "*";
  const runs: [number, number][] = [];
  for (const value of [...values].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last !== undefined && last[1] === value - 1) last[1] = value;
    else runs.push([value, value]);
  }
  const named = runs.map(([low, high]) => [low + shift, high + shift] as const);
  return named.map(([low, high]) => (low === high ? low : `${low}-${high}`)).join(",");
};

const counts = { minutes: 60, hours: 24, days: 31, months: 12, weekdays: 7 } as const;

const textOf = (fields: CronFields, day: string, weekday: string): string => {
  const minutes = listOf(fields.minutes, counts.minutes);
  const hours = listOf(fields.hours, counts.hours);
  return `cron(${minutes} ${hours} ${day} ${listOf(fields.months, counts.months)} ${weekday} *)`;
};

const byDay = (fields: CronFields): string => textOf(fields, listOf(fields.days, counts.days), "?");
const byWeekday = (fields: CronFields): string => textOf(fields, "?", listOf(fields.weekdays, counts.weekdays, 1));

/** Returns one expression, or two that never fire at the same time. Throws a `RangeError` if `cron` is not valid. */
export const expressionsOf = (cron: string): readonly [Expression, Expression?] => {
  const fields = parseCron(cron);
  if (typeof fields === "string") throw new RangeError(`'${cron}' is not a cron expression: ${fields}`);
  const [everyDay, everyWeekday] = [fields.days.size === counts.days, fields.weekdays.size === counts.weekdays];
  const days = [...fields.days].sort((a, b) => a - b);
  if (fields.anyDay || fields.anyWeekday) {
    if (everyWeekday) return [{ text: byDay(fields) }];
    return [everyDay ? { text: byWeekday(fields) } : { text: byWeekday(fields), days: { only: days } }];
  }
  if (everyDay || everyWeekday) return [{ text: textOf(fields, "*", "?") }];
  // EventBridge Scheduler rejects a date that never occurs, so only the weekdays remain.
  if (!dateOccurs(fields)) return [{ text: byWeekday(fields) }];
  return [{ text: byDay(fields) }, { text: byWeekday(fields), days: { not: days } }];
};
