/** A clock whose sleepers wake at once, with the time passed: hours of repeats take milliseconds beside real connections. */
import { type Instant, parseInstant, plusMillis } from "../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../core/ports/system.ts";

export interface LeapingClock extends Clock {
  /** Moves it although nobody sleeps. */
  pass(millis: number): void;
}

export const createLeapingClock = (start = "2026-01-01T00:00:00Z"): LeapingClock => {
  let now = parseInstant(start) as Instant;
  const pass = (millis: number): void => {
    now = plusMillis(now, Math.max(0, millis));
  };
  return {
    now: () => now,
    sleep: async (millis, signal) => {
      if (signal?.aborted === true) return;
      pass(millis);
      // Connections have their turn, so that whoever repeats until something happens sees it happen.
      await new Promise((resolve) => setImmediate(resolve));
    },
    pass,
  };
};
