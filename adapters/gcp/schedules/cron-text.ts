/**
 * Formats a cron expression in the syntax that Cloud Scheduler documents: months and weekdays as numbers or upper-case
 * names, and no range that ends on Sunday as 7. https://cloud.google.com/scheduler/docs/configuring/cron-job-schedules
 */
import { parseCron } from "../../../core/domain/schedules/schedule.ts";

export const cloudCron = (cron: string): string => {
  const fields = cron.toUpperCase().split(" ");
  const parsed = parseCron(cron);
  if (typeof parsed === "string" || fields.length !== 5) return cron;
  const weekday = fields[4] as string;
  const isPlain = weekday.startsWith("*") || !weekday.includes("7");
  return [...fields.slice(0, 4), isPlain ? weekday : [...parsed.weekdays].sort().join(",")].join(" ");
};
