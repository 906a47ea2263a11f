/** Calls never exceed the quota per minute or second, and a rejected call learns when to retry. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { ReadLimiter } from "../../../../adapters/cloud/logs/read-limiter.ts";
import { divideQuota } from "../../../../adapters/cloud/logs/read-quota.ts";
import { SharedReads } from "../../../../adapters/cloud/logs/shared-reads.ts";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import { createLeapingClock } from "../../../support/clocks/leaping-clock.ts";

test("no period of 60 seconds or of one second has more calls than its quota", () =>
  fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined }),
      fc.array(fc.tuple(fc.oneof(fc.nat({ max: 300 }), fc.nat({ max: 30_000 })), fc.nat({ max: 70_000 })), {
        maxLength: 40,
      }),
      async (quota, perSecond, asks) => {
        const clock = createLeapingClock();
        const limiter = new ReadLimiter(clock, quota, perSecond);
        const made: number[] = [];
        for (const [pause, timeoutMs] of asks) {
          clock.pass(pause);
          const asked = millisOf(clock.now());
          const wait = await limiter.take(timeoutMs);
          if (wait === undefined) made.push(millisOf(clock.now()));
          else {
            expect(wait * 1000).toBeGreaterThan(timeoutMs);
            expect(wait).toBeLessThanOrEqual(60);
            expect(millisOf(clock.now())).toBe(asked);
          }
        }
        const expectWindow = (calls: number, windowMs: number) => {
          for (const [index, at] of made.entries())
            if (index >= calls) expect(at - (made[index - calls] as number)).toBeGreaterThanOrEqual(windowMs);
        };
        expectWindow(quota, 60_000);
        if (perSecond !== undefined) expectWindow(perSecond, 1000);
      },
    ),
  ));

test("the shares of a quota per second add up to it, and a small quota is not divided", async () => {
  const shares = { parts: 5, deploys: 1, followers: 2, isPerSecond: true };
  for (const perSecond of [5, 10, 25]) {
    const clock = createLeapingClock();
    const { deploys, searches, followsPerMinute } = divideQuota(clock, perSecond * 60, shares);
    let made = 0;
    for (const limiter of [deploys, searches]) while ((await limiter.take(0)) === undefined) made++;
    expect(made + followsPerMinute / 60).toBe(perSecond);
  }
  const { deploys, searches, followsPerMinute } = divideQuota(createLeapingClock(), 4, shares);
  expect([deploys === searches, followsPerMinute]).toEqual([true, 0]);
});

test("an exhausted quota is available again after a minute", async () => {
  const clock = createLeapingClock();
  const limiter = new ReadLimiter(clock, 2);
  expect([await limiter.take(0), await limiter.take(0), await limiter.take(0)]).toEqual([undefined, undefined, 60]);
  clock.pass(59_000);
  expect(limiter.wait).toBe(1000);
  expect(await limiter.take(999)).toBe(1);
  expect(await limiter.take(1000)).toBeUndefined();
});

test("equal requests share a read for the given time, and others do not", async () => {
  const clock = createLeapingClock();
  const reads = new SharedReads<number>(clock, 1000);
  let count = 0;
  const ask = (key: string, until: bigint, isGood = true) =>
    reads.read(
      key,
      until,
      async () => ++count,
      () => isGood,
    );
  expect(await Promise.all([ask("a", 5n), ask("a", 5n), ask("a", 6n), ask("b", 5n)])).toEqual([1, 1, 1, 2]);
  expect(await ask("a", 4n)).toBe(3);
  clock.pass(999);
  expect(await ask("a", 7n)).toBe(3);
  clock.pass(1);
  expect(await ask("a", 7n)).toBe(4);
  reads.forget("a");
  expect(await ask("a", 7n)).toBe(5);
  expect(await ask("c", 1n, false)).toBe(6);
  expect(await ask("c", 1n, false)).toBe(7);
});

test("does not share a failed read", async () => {
  const reads = new SharedReads<number>(createLeapingClock(), 1000);
  const fails = reads.read(
    "a",
    0n,
    () => Promise.reject(new Error("no")),
    () => true,
  );
  await expect(fails).rejects.toThrow("no");
  const works = reads.read(
    "a",
    0n,
    async () => 1,
    () => true,
  );
  expect(await works).toBe(1);
});
