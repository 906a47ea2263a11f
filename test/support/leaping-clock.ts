/** A clock whose sleepers wake at once, with the time passed: hours of repeats take milliseconds beside real connections. */
import { type Instant, parseInstant, plusMillis } from "../../core/domain/instant.ts";
import type { Clock } from "../../core/ports/system.ts";

export const createLeapingClock = (start = "2026-01-01T00:00:00Z"): Clock => {
  let now = parseInstant(start) as Instant;
  return {
    now: () => now,
    sleep: async (millis, signal) => {
      if (signal?.aborted === true) return;
      now = plusMillis(now, Math.max(0, millis));
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
};
