/**
 * A clock whose sleepers wake immediately, with the time advanced: hours of polling take milliseconds, and real
 * connections make progress in between.
 */
import { type Instant, parseInstant, plusMillis } from "../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../core/ports/system.ts";

export interface LeapingClock extends Clock {
  /** Advances it without a sleeper. */
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
      // Lets connections make progress, so that a polling loop sees their effect.
      await new Promise((resolve) => setImmediate(resolve));
    },
    pass,
  };
};
