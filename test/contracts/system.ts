/** Contract suites of `Clock` and `Ids`. */
import { expect } from "vitest";
import type { Clock, Ids } from "../../core/ports/system.ts";
import type { ContractCase } from "./harness.ts";

/** A clock under test. */
export interface ClockSubject {
  readonly clock: Clock;
  /** Lets this many milliseconds pass on the clock. */
  pass(millis: number): Promise<void>;
}

/** The contract suite of `Clock`. */
export const clockCases: readonly ContractCase<ClockSubject>[] = [
  {
    group: "now",
    name: "time passes",
    run: async ({ clock, pass }) => {
      const before = clock.now();
      await pass(5);
      expect(clock.now() - before).toBeGreaterThanOrEqual(5_000_000n - 1_000_000n);
    },
  },
  {
    group: "sleep",
    name: "resolves after its time, not before",
    run: async ({ clock, pass }) => {
      let awake = false;
      const before = clock.now();
      const slept = clock.sleep(20).then(() => {
        awake = true;
        return clock.now();
      });
      await Promise.resolve();
      expect(awake).toBe(false);
      await pass(25);
      expect((await slept) - before).toBeGreaterThanOrEqual(19_000_000n);
    },
  },
  {
    group: "sleep",
    name: "resolves immediately when its signal aborts, or has aborted before",
    run: async ({ clock }) => {
      await clock.sleep(3_600_000, AbortSignal.abort());
      const meanwhile = new AbortController();
      const slept = clock.sleep(3_600_000, meanwhile.signal);
      meanwhile.abort();
      await slept;
    },
  },
  { group: "sleep", name: "resolves for zero milliseconds", run: async ({ clock }) => clock.sleep(0) },
];

/** The contract suite of `Ids`. */
export const idsCases: readonly ContractCase<Ids>[] = [
  {
    group: "id",
    name: "ids have 20 characters a-z0-9 and do not repeat",
    run: async (ids) => {
      const made = Array.from({ length: 2000 }, () => ids.id());
      expect(new Set(made).size).toBe(made.length);
      for (const id of made) expect(id).toMatch(/^[a-z0-9]{20}$/);
    },
  },
  {
    group: "secret",
    name: "secrets have the requested length, in base62, and do not repeat",
    run: async (ids) => {
      const made = Array.from({ length: 500 }, () => ids.secret(40));
      expect(new Set(made).size).toBe(made.length);
      for (const secret of made) expect(secret).toMatch(/^[A-Za-z0-9]{40}$/);
    },
  },
];
