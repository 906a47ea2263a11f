/** The semaphore grants every permit in order of arrival, and never more at a time than its capacity. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { KeyedSemaphore, type Permit } from "../../../../core/use-cases/pipeline/keyed-semaphore.ts";
import { runs } from "../../../support/vitest/runs.ts";

describe("by example", () => {
  test("the second permit waits for the first", async () => {
    const semaphore = new KeyedSemaphore(1);
    const [first, second] = [semaphore.acquire("a"), semaphore.acquire("a")];
    const counts = () => [semaphore.granted("a"), semaphore.waiting("a"), semaphore.isAvailable("a")];
    expect([first.granted, second.granted, ...counts()]).toEqual([true, false, 1, 1, false]);
    first.release();
    await second.whenGranted;
    expect([second.granted, ...counts()]).toEqual([true, 1, 0, false]);
    second.release();
    expect(counts()).toEqual([0, 0, true]);
  });

  test("keys are independent", () => {
    const semaphore = new KeyedSemaphore(1);
    semaphore.acquire("a");
    expect(semaphore.acquire("b").granted).toBe(true);
  });

  test("a permit released in the queue does not block the others, and a second release does nothing", () => {
    const semaphore = new KeyedSemaphore(1);
    const [first, second, third, fourth] = [
      semaphore.acquire("a"),
      semaphore.acquire("a"),
      semaphore.acquire("a"),
      semaphore.acquire("a"),
    ];
    second.release();
    first.release();
    first.release();
    expect([second.granted, third.granted, fourth.granted]).toEqual([false, true, false]);
  });
});

type Step = { readonly acquire: string } | { readonly release: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.constantFrom("a", "b").map((acquire) => ({ acquire })),
  fc.nat({ max: 30 }).map((release) => ({ release })),
);

test("in any order of calls, the granted permits of a key are exactly its oldest", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3 }), fc.array(step, { maxLength: 60, size: "max" }), (capacity, steps) => {
      const semaphore = new KeyedSemaphore(capacity);
      const permits: { key: string; permit: Permit; here: boolean; everGranted: boolean }[] = [];
      for (const one of steps) {
        if ("acquire" in one)
          permits.push({ key: one.acquire, permit: semaphore.acquire(one.acquire), here: true, everGranted: false });
        else {
          const left = permits[one.release % Math.max(1, permits.length)];
          left?.permit.release();
          if (left !== undefined) left.here = false;
        }
        for (const key of ["a", "b"]) {
          const here = permits.filter((permit) => permit.key === key && permit.here);
          for (const first of here.slice(0, capacity)) first.everGranted = true;
          // The model: the first `capacity` in order of arrival. A granted permit is never taken back.
          expect(here.map(({ permit }) => permit.granted)).toEqual(here.map((_, index) => index < capacity));
          expect(semaphore.waiting(key)).toBe(Math.max(0, here.length - capacity));
          expect(semaphore.isAvailable(key)).toBe(here.length < capacity);
        }
      }
      for (const { permit, everGranted } of permits) expect(permit.granted).toBe(everGranted);
    }),
    runs(300),
  );
});

test("grants permits in order of arrival, one promise each", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 1, max: 12 }),
      fc.scheduler(),
      async (capacity, count, scheduler) => {
        const semaphore = new KeyedSemaphore(capacity);
        const order: number[] = [];
        let inside = 0;
        const work = async (index: number) => {
          const permit = semaphore.acquire("a");
          await permit.whenGranted;
          order.push(index);
          expect(++inside).toBeLessThanOrEqual(capacity);
          await scheduler.schedule(Promise.resolve());
          inside--;
          permit.release();
        };
        const all = Promise.all(Array.from({ length: count }, (_, index) => work(index)));
        await scheduler.waitFor(all);
        expect(order).toEqual(Array.from({ length: count }, (_, index) => index));
      },
    ),
    runs(100),
  );
});
