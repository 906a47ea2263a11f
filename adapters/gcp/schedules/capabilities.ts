/** Capabilities and limits of Cloud Scheduler, with reasons. */
import { type Capabilities, offered } from "../../../core/domain/wire/capabilities.ts";
import { maxFireSeconds } from "./job.ts";

export const gcpCron: Capabilities["cron"] = {
  schedules: offered(
    "by Cloud Scheduler: X-CloudScheduler-ScheduleTime holds the scheduled time, because a job's headers are fixed; " +
      "a fire waits for the previous run, and any response other than 2xx causes a retry",
  ),
  max_seconds: maxFireSeconds,
};
