/** croner as the reference for fire times: https://github.com/hexagon/croner, version 11. */
import { Cron } from "croner";
import { type CronFields, parseCron, type Schedule } from "../../../core/domain/schedules/schedule.ts";

/**
 * The expression and options that make croner read a schedule as Portside does. The two differ on purpose in two points:
 * - In Vixie cron and Portside, both day fields must match if one of them begins with a star, even if a step or a list
 *   follows it. In croner, only a star alone has this effect.
 * - Portside recognizes a schedule with a single time of day by its meaning, so `5-9/10 2 * * *` equals `5 2 * * *`.
 *   croner recognizes it only by its notation, without a step.
 */
const asCronerReadsIt = ({ cron }: Schedule): { readonly cron: string; readonly domAndDow: boolean } => {
  const { minutes, hours, anyDay, anyWeekday } = parseCron(cron) as CronFields;
  const [minute, hour, ...dates] = cron.replace(/-sun/gi, "-0").split(" ");
  const single = minutes.size === 1 && hours.size === 1;
  const time = single ? [[...minutes][0], [...hours][0]] : [minute, hour];
  return { cron: [...time, ...dates].join(" "), domAndDow: anyDay || anyWeekday };
};

/** The first fires strictly after a moment, in milliseconds. */
export const cronerFires = (schedule: Schedule, after: number, count: number): number[] => {
  const { cron, domAndDow } = asCronerReadsIt(schedule);
  const job = new Cron(cron, { mode: "5-part", timezone: schedule.timezone, domAndDow });
  return job.nextRuns(count, new Date(after)).map((date) => date.getTime());
};
