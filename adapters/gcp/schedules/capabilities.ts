/** Capabilities and limits of Cloud Scheduler, with reasons. */
import { type Capabilities, offered } from "../../../core/domain/wire/capabilities.ts";
import { maxFireSeconds } from "./job.ts";

export const gcpCron: Capabilities["cron"] = {
  schedules: offered(
    "by Cloud Scheduler: the scheduled time is in X-CloudScheduler-ScheduleTime, for headers of a job are fixed texts; " +
      "a fire waits for the run before it to end, and any answer but a 2xx is tried again",
  ),
  max_seconds: maxFireSeconds,
};
