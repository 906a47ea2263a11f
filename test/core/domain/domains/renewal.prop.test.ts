/** When certificates are renewed, and when failed orders are tried again. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Period, renewalTime, retryDelayMs, retryLimits } from "../../../../core/domain/domains/renewal.ts";
import { type Instant, instantOfMillis, millisOf } from "../../../../core/domain/wire/instant.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const at = (millis: number): Instant => instantOfMillis(1_800_000_000_000 + millis);
const period = (start: number, end: number): Period => ({ start: at(start), end: at(end) });
const offset = (instant: Instant): number => millisOf(instant) - 1_800_000_000_000;

describe("without renewal information", () => {
  test.each([
    ["64 days", 64 * DAY],
    ["6 days", 6 * DAY],
    ["90 days", 90 * DAY],
  ])("a certificate of %s is renewed after two thirds of its life", (_what, life) => {
    expect(offset(renewalTime(period(0, life), undefined, 0.9))).toBe((life * 2) / 3);
  });

  test("ignores a window of zero length", () => {
    const life = period(0, 64 * DAY);
    for (const window of [period(DAY, DAY), period(2 * DAY, DAY)])
      expect(renewalTime(life, window, 0.5)).toBe(renewalTime(life, undefined, 0.5));
  });
});

describe("with renewal information", () => {
  const life = period(0, 64 * DAY);

  test("the renewal is at the random point of the window", () => {
    const window = period(30 * DAY, 32 * DAY);
    expect(offset(renewalTime(life, window, 0))).toBe(30 * DAY);
    expect(offset(renewalTime(life, window, 0.25))).toBe(30.5 * DAY);
  });

  test("a revoked certificate, whose window is in the past, is renewed immediately", () => {
    expect(renewalTime(life, period(-2 * DAY, -DAY), 0.5) < life.start).toBe(true);
  });

  test("the renewal is in the window, and never after two thirds of the life", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: HOUR, max: 400 * DAY }),
        fc.integer({ min: -400 * DAY, max: 800 * DAY }),
        fc.integer({ min: 1, max: 100 * DAY }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (length, start, width, random) => {
          const window = period(start, start + width);
          const renewal = renewalTime(period(0, length), window, random);
          const latest = renewalTime(period(0, length), undefined, random);
          expect(renewal <= latest).toBe(true);
          if (renewal !== latest) expect(renewal >= window.start && renewal <= window.end).toBe(true);
        },
      ),
    );
  });
});

test("the delays after failures double from a minute to a day", () => {
  const delays = Array.from({ length: 40 }, (_, index) => retryDelayMs(index + 1));
  expect(delays.slice(0, 4)).toEqual([60_000, 120_000, 240_000, 480_000]);
  expect(delays.at(-1)).toBe(DAY);
  expect(retryDelayMs(5000)).toBe(retryLimits.longestMs);
  for (const [index, delay] of delays.slice(1).entries()) expect(delay).toBeGreaterThanOrEqual(delays[index] ?? 0);
});
