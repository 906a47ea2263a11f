import { type Instant, parseInstant, plusMillis } from "../../core/domain/wire/instant.ts";
import type { Clock } from "../../core/ports/system.ts";

/** A clock that moves only on `advance`, so that tests can simulate hours in milliseconds. */
export interface ManualClock extends Clock {
  /** Moves time forward by `millis` milliseconds and wakes sleepers in the order of their deadlines. */
  advance(millis: number): Promise<void>;
}

interface Sleeper {
  readonly due: Instant;
  readonly wake: () => void;
}

/** Lets pending callbacks of promises run, so that a woken task can start its next sleep. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Creates a clock that starts at `start`, an RFC 3339 time. */
export const createManualClock = (start = "2026-01-01T00:00:00Z"): ManualClock => {
  let now = parseInstant(start) as Instant;
  const sleepers = new Set<Sleeper>();
  const next = (until: Instant): Sleeper | undefined =>
    [...sleepers].filter((sleeper) => sleeper.due <= until).sort((a, b) => (a.due < b.due ? -1 : 1))[0];
  return {
    now: () => now,
    sleep: (millis, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true || millis <= 0) return resolve();
        const sleeper: Sleeper = {
          due: plusMillis(now, millis),
          wake: () => {
            sleepers.delete(sleeper);
            signal?.removeEventListener("abort", sleeper.wake);
            resolve();
          },
        };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", sleeper.wake);
      }),
    advance: async (millis) => {
      const until = plusMillis(now, millis);
      await settle();
      for (let sleeper = next(until); sleeper !== undefined; sleeper = next(until)) {
        now = sleeper.due;
        sleeper.wake();
        await settle();
      }
      now = until;
      await settle();
    },
  };
};
