/** A clock that a test can set: another clock plus an offset. */
import { type Instant, plusMillis } from "../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../core/ports/system.ts";

export interface ShiftedClock extends Clock {
  /** Moves the clock forward by `millis`, or back if they are negative. */
  set(millis: number): void;
}

export const shiftedClock = (clock: Clock): ShiftedClock => {
  let shift = 0;
  return {
    now: (): Instant => plusMillis(clock.now(), shift),
    sleep: (millis, signal) => clock.sleep(millis, signal),
    set: (millis) => {
      shift += millis;
    },
  };
};
