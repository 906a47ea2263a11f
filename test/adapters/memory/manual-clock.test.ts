/** The manual clock, on which tests of long periods depend. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createManualClock } from "../../../adapters/memory/index.ts";
import { timestampOf } from "../../../core/domain/wire/instant.ts";
import { runs } from "../../support/vitest/runs.ts";

test("time stands still until it is advanced", async () => {
  const clock = createManualClock("2026-05-01T12:00:00Z");
  expect(timestampOf(clock.now())).toBe("2026-05-01T12:00:00+00:00");
  await clock.advance(1500);
  expect(timestampOf(clock.now())).toBe("2026-05-01T12:00:01.500+00:00");
});

describe("sleepers", () => {
  test("wake when they are due, not before", async () => {
    const clock = createManualClock();
    let awake = false;
    void clock.sleep(1000).then(() => {
      awake = true;
    });
    await clock.advance(999);
    expect(awake).toBe(false);
    await clock.advance(1);
    expect(awake).toBe(true);
  });

  test("of zero milliseconds do not wait", async () => {
    const clock = createManualClock();
    await clock.sleep(0);
    await clock.sleep(-5);
  });

  test("wake immediately when their signal aborts, and never reject", async () => {
    const clock = createManualClock();
    const abort = new AbortController();
    const slept = clock.sleep(1000, abort.signal);
    abort.abort();
    await slept;
    await clock.sleep(1000, abort.signal);
    expect(timestampOf(clock.now())).toBe("2026-01-01T00:00:00+00:00");
  });

  test("may sleep again within the same advance", async () => {
    const clock = createManualClock();
    const times: number[] = [];
    const start = clock.now();
    const work = async () => {
      for (const pause of [100, 200, 300]) {
        await clock.sleep(pause);
        times.push(Number((clock.now() - start) / 1_000_000n));
      }
    };
    const done = work();
    await clock.advance(1000);
    await done;
    expect(times).toEqual([100, 300, 600]);
  });

  test("wake in order of their due times, each at its own time, and in order of arrival at equal times", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 12 }),
        fc.integer({ min: 1, max: 25 }),
        async (naps, move) => {
          const clock = createManualClock();
          const start = clock.now();
          const woken: [number, number][] = [];
          for (const [index, nap] of naps.entries())
            void clock.sleep(nap).then(() => void woken.push([Number((clock.now() - start) / 1_000_000n), index]));
          await clock.advance(move);
          const due = naps.map((nap, index): [number, number] => [nap, index]).filter(([nap]) => nap <= move);
          expect(woken).toEqual(due.sort((a, b) => a[0] - b[0] || a[1] - b[1]));
        },
      ),
      runs(100),
    );
  });
});
