/** Capabilities and limits of EventBridge Scheduler, with reasons. */
import { type Capabilities, missing, offered } from "../../../core/domain/wire/capabilities.ts";
import { maxFireSeconds } from "./job.ts";

export const awsCron: Capabilities["cron"] = {
  schedules: offered(
    "by EventBridge Scheduler and a Lambda function, within a minute of the scheduled time; when clocks go forward, " +
      "skipped times have no run, and when clocks go back, repeated times have one run; " +
      "retries of a run end 15 minutes after it starts",
  ),
  fire: missing("EventBridge Scheduler runs schedules only at their scheduled times"),
  max_seconds: maxFireSeconds,
};
