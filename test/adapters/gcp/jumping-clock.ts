/** A clock on which nobody waits: who sleeps moves it, so that a minute of repeats takes no time. */
import { type Instant, parseInstant, plusMillis } from "../../../core/domain/instant.ts";
import type { Clock } from "../../../core/ports/system.ts";

export interface JumpingClock extends Clock {
  pass(millis: number): void;
}

export const createJumpingClock = (start = "2026-01-31T09:00:00Z"): JumpingClock => {
  let now = parseInstant(start) as Instant;
  const pass = (millis: number) => {
    now = plusMillis(now, millis);
  };
  return {
    now: () => now,
    sleep: async (millis, signal) => {
      if (signal?.aborted !== true) pass(millis);
    },
    pass,
  };
};
