/**
 * A cron expression of five fields in EventBridge Scheduler's six: minutes, hours, day of the month, month, day of the week
 * (1 to 7, Sunday first) and year, of whose day fields one has to be `?`.
 * https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html#cron-based
 *
 * So what names both days becomes two schedules where either day will do, and one with a condition where both must hold.
 */
import { type CronFields, dateEverComes, parseCron } from "../../../core/domain/schedule.ts";

/** Days of the month on which a fire by the day of the week is made, or is not: then the other schedule makes it. */
export type DayRule = { readonly only: readonly number[] } | { readonly not: readonly number[] };

export interface Expression {
  readonly text: string;
  readonly days?: DayRule;
}

/** Numbers as the shortest list of ranges; `*` for all there are. */
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

/** One expression, or two of which no moment is of both. The text is one that the schedule rule has passed. */
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
  // A date that never comes is refused, not waited for.
  if (!dateEverComes(fields)) return [{ text: byWeekday(fields) }];
  return [{ text: byDay(fields) }, { text: byWeekday(fields), days: { not: days } }];
};
