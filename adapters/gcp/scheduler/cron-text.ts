/**
 * A cron expression in the words that Cloud Scheduler documents: months and days of the week by their numbers or in
 * capitals, and no range to a second Sunday. https://cloud.google.com/scheduler/docs/configuring/cron-job-schedules
 */
import { parseCron } from "../../../core/domain/schedule.ts";

export const cloudCron = (cron: string): string => {
  const fields = cron.toUpperCase().split(" ");
  const parsed = parseCron(cron);
  if (typeof parsed === "string" || fields.length !== 5) return cron;
  const weekday = fields[4] as string;
  const isPlain = weekday.startsWith("*") || !weekday.includes("7");
  return [...fields.slice(0, 4), isPlain ? weekday : [...parsed.weekdays].sort().join(",")].join(" ");
};
