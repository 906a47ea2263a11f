/** Rollups add up in any order, and their quantiles are close to those of the requests. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { MAX_POINTS, minuteOf, sumSteps, windowOf } from "../../../../core/domain/usage/metrics.ts";
import {
  addRollup,
  averageCpu,
  averageInstances,
  averageMemory,
  coldStartsOf,
  countColdStart,
  countInstance,
  countObserved,
  countRequest,
  createRollup,
  isEmptyRollup,
  latencyQuantile,
  parseRollup,
  type Rollup,
  renderRollup,
  requestsOf,
  statusClasses,
} from "../../../../core/domain/usage/rollup.ts";
import { instantOfSeconds } from "../../../../core/domain/wire/instant.ts";

interface Request {
  readonly status: number;
  readonly millis: number;
}

const request: fc.Arbitrary<Request> = fc.record({
  status: fc.integer({ min: 100, max: 599 }),
  millis: fc.double({ min: 0, max: 3_600_000, noNaN: true }),
});
const requests = fc.array(request, { maxLength: 50 });

const rollupOf = (all: readonly Request[]): Rollup => {
  const rollup = createRollup();
  for (const { status, millis } of all) countRequest(rollup, status, millis);
  return rollup;
};

const sumOf = (...rollups: readonly Rollup[]): Rollup => {
  const sum = createRollup();
  for (const one of rollups) addRollup(sum, one);
  return sum;
};

test("the sum of rollups is the rollup of all requests, in any order", () =>
  fc.assert(
    fc.property(requests, requests, requests, (a, b, c) => {
      const whole = rollupOf([...a, ...b, ...c]);
      expect(sumOf(rollupOf(a), sumOf(rollupOf(b), rollupOf(c)))).toEqual(whole);
      expect(sumOf(rollupOf(c), rollupOf(a), rollupOf(b))).toEqual(whole);
    }),
  ));

test("counts each request in its status class", () =>
  fc.assert(
    fc.property(requests, (all) => {
      const rollup = rollupOf(all);
      for (const statusClass of statusClasses)
        expect(requestsOf(rollup, statusClass)).toBe(
          all.filter(({ status }) => `${Math.floor(status / 100)}xx` === statusClass).length,
        );
    }),
  ));

test("a rendered rollup has the same counters", () =>
  fc.assert(
    fc.property(requests, (all) => {
      const rollup = rollupOf(all);
      countColdStart(rollup);
      expect(parseRollup(renderRollup(rollup))).toEqual(rollup);
    }),
  ));

test("a quantile is at least the exact one, and at most 19 percent or one millisecond more", () =>
  fc.assert(
    fc.property(
      fc.array(request, { minLength: 1, maxLength: 200 }),
      fc.constantFrom(0.01, 0.5, 0.95, 0.99, 1),
      (all, share) => {
        const sorted = all.map(({ millis }) => millis).sort((a, b) => a - b);
        const exact = sorted[Math.max(1, Math.ceil(sorted.length * share)) - 1] as number;
        const found = latencyQuantile(rollupOf(all), share) as number;
        expect(found).toBeGreaterThanOrEqual(exact * (1 - 1e-12));
        expect(found).toBeLessThanOrEqual(Math.max(1, exact * 2 ** 0.25) * (1 + 1e-12));
      },
    ),
  ));

test("a latency above all bounds counts in the last bucket", () => {
  const rollup = rollupOf([{ status: 200, millis: 1e9 }]);
  expect(latencyQuantile(rollup, 0.5)).toBeGreaterThan(3_600_000);
});

test("ignores a status that is not an HTTP status, and parts of a damaged rollup", () => {
  const rollup = rollupOf([{ status: 0, millis: 5 }]);
  expect(statusClasses.map((one) => requestsOf(rollup, one))).toEqual([0, 0, 0, 0, 0]);
  expect(coldStartsOf(parseRollup("4:2,x,999:1,-1:1,5:-3,6:y"))).toBe(2);
  expect(isEmptyRollup(parseRollup("x,999:1,-1:1,5:-3,6:y"))).toBe(true);
});

test("averages are over the observed time", () => {
  const rollup = createRollup();
  expect([averageInstances(rollup), averageCpu(rollup), averageMemory(rollup)]).toEqual([null, null, null]);
  expect(latencyQuantile(rollup, 0.5)).toBeNull();
  countObserved(rollup, 60_000);
  countInstance(rollup, { millis: 60_000, memoryBytes: 2048, cpuMillis: 15_000 });
  countInstance(rollup, { millis: 30_000, memoryBytes: 4096, cpuMillis: 15_000 });
  expect([averageInstances(rollup), averageCpu(rollup), averageMemory(rollup)]).toEqual([1.5, 0.5, 4096]);
});

const second = fc.integer({ min: 1_700_000_000, max: 1_800_000_000 });

test("a window contains both its ends, in at most the maximum number of aligned steps", () =>
  fc.assert(
    fc.property(
      second,
      fc.integer({ min: 0, max: 8 * 86_400 }),
      fc.option(fc.integer({ min: 1, max: 1440 }), { nil: undefined }),
      (now, age, minutes) => {
        const step = minutes === undefined ? undefined : minutes * 60;
        const window = windowOf(instantOfSeconds(now - age), instantOfSeconds(now), step);
        if ("smallest" in window) {
          expect(Math.floor(age / (step as number)) + 2).toBeGreaterThan(MAX_POINTS);
          const retry = windowOf(instantOfSeconds(now - age), instantOfSeconds(now), window.smallest);
          expect(retry).toHaveProperty("count");
          return;
        }
        const from = Number(window.from / 1_000_000_000n);
        expect(from % window.step).toBe(0);
        expect(from).toBeLessThanOrEqual(now - age);
        expect(from + window.step).toBeGreaterThan(now - age);
        expect(from + window.step * window.count).toBeGreaterThan(now);
        expect(from + window.step * (window.count - 1)).toBeLessThanOrEqual(now);
        expect(window.count).toBeLessThanOrEqual(step === undefined ? 120 : MAX_POINTS);
      },
    ),
  ));

test("steps add up all rollups of the window, and a step without a rollup is null", () =>
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: -100, max: 400 }), requests), { maxLength: 30 }),
      fc.integer({ min: 1, max: 30 }),
      (minutes, minutesPerStep) => {
        const window = { from: instantOfSeconds(0), step: minutesPerStep * 60, count: 10 };
        const own = minutes.map(([minute, all]): readonly [number, Rollup] => [minute * 60, rollupOf(all)]);
        const steps = sumSteps(window, [], own);
        const rendered = own.map(([minute, rollup]) => [minute, renderRollup(rollup)] as const);
        expect(sumSteps(window, [], rendered)).toEqual(steps);
        const inside = own.filter(([minute]) => minute >= 0 && minute < window.step * window.count);
        expect(sumOf(...steps.flatMap((step) => step ?? []))).toEqual(sumOf(...inside.map(([, rollup]) => rollup)));
        steps.forEach((step, index) => {
          const has = inside.some(([minute]) => Math.floor(minute / window.step) === index);
          expect(step === null).toBe(!has);
        });
      },
    ),
  ));

test("a minute begins at a multiple of 60 seconds", () =>
  fc.assert(
    fc.property(second, (now) => {
      const minute = minuteOf(instantOfSeconds(now));
      expect(minute % 60).toBe(0);
      expect(now - minute).toBeLessThan(60);
      expect(minute).toBeLessThanOrEqual(now);
    }),
  ));
