/** A clock whose sleeps end only by their signal, to test what ends a wait. */
import type { Clock } from "../../../core/ports/system.ts";

export interface EndlessSleepClock extends Clock {
  /** Returns the number of sleeps that have not ended. */
  sleeping(): number;
}

export const createEndlessSleepClock = ({ now }: Pick<Clock, "now">): EndlessSleepClock => {
  let count = 0;
  return {
    now: () => now(),
    sleeping: () => count,
    sleep: (_millis, signal) =>
      new Promise((resolve) => {
        count += 1;
        signal?.addEventListener("abort", () => {
          count -= 1;
          resolve();
        });
      }),
  };
};
