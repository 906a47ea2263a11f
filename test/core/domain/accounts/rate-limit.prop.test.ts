/** The token bucket: no window admits more than one minute's burst plus the window's share. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Bucket, takeToken, usedTokens } from "../../../../core/domain/accounts/rate-limit.ts";
import { type Instant, plusMillis } from "../../../../core/domain/wire/instant.ts";
import { runs } from "../../../support/vitest/runs.ts";

const start = 1_767_225_600_000_000_000n as Instant;
const perMinute = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constantFrom(60, 3000));
/** Milliseconds between requests: zero for most, minutes for some. */
const pauses = fc.array(
  fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3000 }), fc.integer({ min: 0, max: 200_000 })),
  {
    maxLength: 150,
    size: "max",
  },
);

const admittedAt = (rate: number, waits: readonly number[]): number[] => {
  let bucket: Bucket | undefined;
  let at = 0;
  return waits.flatMap((wait) => {
    at += wait;
    const taken = takeToken(bucket, rate, plusMillis(start, at));
    bucket = taken.bucket;
    return taken.retryAfterSeconds === undefined ? [at] : [];
  });
};

/** The number of requests that the bucket admits at one moment. */
const admittedAfter = (bucket: Bucket | undefined, rate: number, now: Instant): number => {
  let [left, admitted] = [bucket, 0];
  for (;;) {
    const taken = takeToken(left, rate, now);
    if (taken.retryAfterSeconds !== undefined) return admitted;
    left = taken.bucket;
    admitted += 1;
  }
};

/** The largest number of requests above the burst and the window's share, in any window between two requests. */
const worstWindow = (rate: number, times: readonly number[]): number => {
  let worst = Number.NEGATIVE_INFINITY;
  for (const [from, first] of times.entries())
    for (const [more, last] of times.slice(from).entries())
      worst = Math.max(worst, more + 1 - rate - (rate * (last - first)) / 60_000);
  return worst;
};

test("admits at most one burst plus the window's share in any window", () => {
  fc.assert(
    fc.property(perMinute, pauses, (rate, waits) => {
      expect(worstWindow(rate, admittedAt(rate, waits))).toBeLessThanOrEqual(1e-6);
    }),
    runs(300),
  );
});

test("admits a burst of exactly one minute's requests after a pause", () => {
  fc.assert(
    fc.property(perMinute, (rate) => {
      const burst = Array.from({ length: rate + 5 }, (_, index) => (index === 0 ? 60_000 : 0));
      expect(admittedAt(rate, burst)).toHaveLength(rate);
    }),
    runs(50),
  );
});

test("admits a client that waits for the returned time, and that time is not excessive", () => {
  fc.assert(
    fc.property(perMinute, pauses, (rate, waits) => {
      let bucket: Bucket | undefined;
      let now = start;
      for (const wait of waits) {
        now = plusMillis(now, wait);
        const taken = takeToken(bucket, rate, now);
        bucket = taken.bucket;
        if (taken.retryAfterSeconds === undefined) continue;
        expect(taken.retryAfterSeconds).toBeLessThanOrEqual(Math.max(1, Math.ceil(60 / rate)));
        const later = plusMillis(now, taken.retryAfterSeconds * 1000);
        expect(takeToken(bucket, rate, later).retryAfterSeconds).toBeUndefined();
      }
    }),
    runs(300),
  );
});

test("the used tokens and the burst that is still admitted add up to the rate", () => {
  fc.assert(
    fc.property(perMinute, pauses, (rate, waits) => {
      let bucket: Bucket | undefined;
      let now = start;
      for (const wait of waits) {
        now = plusMillis(now, wait);
        bucket = takeToken(bucket, rate, now).bucket;
      }
      const burst = admittedAfter(bucket, rate, now);
      expect(usedTokens(bucket, rate, now)).toBe(rate - burst);
    }),
    runs(200),
  );
  expect(usedTokens(undefined, 3000, start)).toBe(0);
});

test("a clock that moves back neither removes nor adds tokens", () => {
  const { bucket } = takeToken({ tokens: 5, at: plusMillis(start, 60_000) }, 10, start);
  expect(bucket.tokens).toBe(4);
});
