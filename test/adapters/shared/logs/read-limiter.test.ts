/** Calls never exceed the quota per minute, and a rejected call learns when to retry. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { ReadLimiter } from "../../../../adapters/shared/logs/read-limiter.ts";
import { SharedReads } from "../../../../adapters/shared/logs/shared-reads.ts";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import { createLeapingClock } from "../../../support/clocks/leaping-clock.ts";

test("no 60 seconds have more calls than the quota", () =>
  fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.tuple(fc.nat({ max: 30_000 }), fc.nat({ max: 70_000 })), { maxLength: 40 }),
      async (quota, asks) => {
        const clock = createLeapingClock();
        const limiter = new ReadLimiter(clock, quota);
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
        for (const [index, at] of made.entries())
          if (index >= quota) expect(at - (made[index - quota] as number)).toBeGreaterThanOrEqual(60_000);
      },
    ),
  ));

test("an exhausted quota is available again after a minute", async () => {
  const clock = createLeapingClock();
  const limiter = new ReadLimiter(clock, 2);
  expect([await limiter.take(0), await limiter.take(0), await limiter.take(0)]).toEqual([undefined, undefined, 60]);
  clock.pass(59_000);
  expect(limiter.wait).toBe(1000);
  expect(await limiter.take(999)).toBe(1);
  expect(await limiter.take(1000)).toBeUndefined();
});

test("equal requests within the time share a read, others do not", async () => {
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
