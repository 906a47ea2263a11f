/** The capabilities and limits of EventBridge Scheduler. */
import { type Capabilities, offered } from "../../../core/domain/wire/capabilities.ts";
import { maxFireSeconds } from "./job.ts";

export const awsCron: Capabilities["cron"] = {
  schedules: offered(
    "by EventBridge Scheduler and a function that brings the fire: within a minute of its time; a time that is skipped " +
      "when clocks are put forward is left out, and one that is repeated when they are put back fires once; retries of " +
      "a run end 15 minutes after its fire",
  ),
  max_seconds: maxFireSeconds,
};
