/** Capabilities and limits of Cloud Scheduler, with reasons. */
import { type Capabilities, missing, offered } from "../../../core/domain/wire/capabilities.ts";
import { maxFireSeconds } from "./job.ts";

export const gcpCron: Capabilities["cron"] = {
  schedules: offered(
    "by Cloud Scheduler: X-CloudScheduler-ScheduleTime holds the scheduled time, because a job's headers are fixed; " +
      "a run waits for the previous one, and any response other than 2xx causes a retry",
  ),
  fire: missing("the Google Cloud provider runs schedules only at their scheduled times"),
  max_seconds: maxFireSeconds,
};
