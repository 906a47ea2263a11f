/** The life of a fire: which responses end it, when it is retried, when it is too late, how long an attempt may run. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fireLimits } from "../../../../core/domain/accounts/limits.ts";
import {
  attemptSeverity,
  attemptTimeout,
  type FailedFire,
  isFailedAttempt,
  isTooLate,
  retryAt,
} from "../../../../core/domain/schedules/fire-policy.ts";
import { type Instant, plusMillis } from "../../../../core/domain/wire/instant.ts";
import { runs } from "../../../support/vitest/runs.ts";

const noon = 1_767_268_800_000_000_000n as Instant;
const later = (seconds: number): Instant => plusMillis(noon, seconds * 1000);

describe("an attempt", () => {
  test.each([undefined, 500, 502, 503, 504, 599])("answered with %s fails", (status) =>
    expect(isFailedAttempt(status)).toBe(true),
  );
  test.each([200, 204, 301, 304, 400, 401, 404, 429, 499, 600])("answered with %s ends the fire", (status) =>
    expect(isFailedAttempt(status)).toBe(false),
  );
  test.each([
    [600, 1800, 600],
    [3600, 1800, 1800],
    [1800, 1800, 1800],
  ])("with a timeout of %i s, on a provider that allows %i s, runs for at most %i s", (timeout, most, longest) =>
    expect(attemptTimeout(timeout, most)).toBe(longest),
  );
});

test.each([
  [200, undefined, "INFO"],
  [299, undefined, "INFO"],
  [199, undefined, "ERROR"],
  [300, undefined, "ERROR"],
  [302, undefined, "ERROR"],
  [404, undefined, "ERROR"],
  [500, undefined, "ERROR"],
  [undefined, undefined, "ERROR"],
  [500, later(5), "WARNING"],
] as const)("an attempt with the status %s and a retry at %s is logged as %s", (status, retry, severity) =>
  expect(attemptSeverity(status, retry)).toBe(severity),
);

describe("a failed fire", () => {
  test.each([
    [1, 5],
    [2, 10],
    [3, 20],
  ])("is retried after attempt %i, %i s after it ended", (attempts, seconds) =>
    expect(retryAt({ attempts, endedAt: noon, nextFire: undefined })).toBe(later(seconds)),
  );

  test("is given up after the third retry", () =>
    expect(retryAt({ attempts: 4, endedAt: noon, nextFire: undefined })).toBeUndefined());

  test("is not retried if the next fire is due before the retry or at the same moment", () => {
    expect(retryAt({ attempts: 1, endedAt: noon, nextFire: later(6) })).toBe(later(5));
    expect(retryAt({ attempts: 1, endedAt: noon, nextFire: later(5) })).toBeUndefined();
    expect(retryAt({ attempts: 1, endedAt: noon, nextFire: later(-60) })).toBeUndefined();
  });
});

test("a fire runs up to sixty seconds late and is skipped after that", () => {
  expect(isTooLate(noon, later(-1))).toBe(false);
  expect(isTooLate(noon, noon)).toBe(false);
  expect(isTooLate(noon, later(60))).toBe(false);
  expect(isTooLate(noon, (later(60) + 1n) as Instant)).toBe(true);
});

/** The times of the calls to a service that never responds. */
const attemptsOf = (runSeconds: readonly number[], nextFire: Instant | undefined): Instant[] => {
  const begun: Instant[] = [];
  let at: Instant | undefined = noon;
  while (at !== undefined) {
    begun.push(at);
    const endedAt = plusMillis(at, (runSeconds[begun.length - 1] ?? 0) * 1000);
    const failed: FailedFire = { attempts: begun.length, endedAt, nextFire };
    at = retryAt(failed);
  }
  return begun;
};

test("makes at most four attempts, at increasing intervals, all before the next fire", () => {
  const lengths = fc.array(fc.nat({ max: 1800 }), { minLength: 4, maxLength: 4 });
  const gap = fc.option(fc.integer({ min: 60, max: 7200 }), { nil: undefined });
  fc.assert(
    fc.property(lengths, gap, (runSeconds, seconds) => {
      const next = seconds === undefined ? undefined : later(seconds);
      const begun = attemptsOf(runSeconds, next);
      expect(begun[0]).toBe(noon);
      expect(begun.length).toBeLessThanOrEqual(4);
      const ends = begun.map((at, index) => plusMillis(at, (runSeconds[index] as number) * 1000));
      for (const [index, at] of begun.slice(1).entries()) {
        expect(at - (ends[index] as Instant)).toBe(BigInt(fireLimits.retryDelays[index] as number) * 1_000_000n);
        if (next !== undefined) expect(at).toBeLessThan(next);
      }
      if (next === undefined) expect(begun).toHaveLength(4);
      else if (begun.length < 4)
        expect(plusMillis(ends.at(-1) as Instant, fireLimits.retryDelays[begun.length - 1] as number) >= next).toBe(
          true,
        );
    }),
    runs(300),
  );
});
