/** A pool with a minimum keeps that many instances running, and only the others become idle. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FAILURE, poolOf, slotOf } from "../../../support/providers/fake-pool.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("starts the minimum without requests, one instance after another", async () => {
  const { pool, starting, up } = poolOf({ minInstances: 2 });
  pool.startMissing();
  pool.startMissing();
  expect(starting).toHaveLength(1);
  await up();
  expect(starting).toHaveLength(1);
  await up();
  expect([pool.size, starting.length]).toEqual([2, 0]);
});

test("starts the minimum only in its turn, but starts an instance for a request immediately", async () => {
  const turn = Promise.withResolvers<void>();
  const { pool, acquire, starting, settle } = poolOf({
    minInstances: 2,
    inTurn: async (start) => {
      await turn.promise;
      return start();
    },
  });
  pool.startMissing();
  expect(starting).toHaveLength(0);
  void acquire();
  expect(starting).toHaveLength(1);
  turn.resolve();
  await settle();
  expect(starting).toHaveLength(2);
});

test.each(["freeze", "stop"] as const)("leaves the minimum awake with idle %s, and no others", async (idle) => {
  const { pool, acquire, up, budget } = poolOf({ minInstances: 1, idle, idleMillis: 1000 });
  const waiting = [acquire(), acquire(), acquire()];
  const instances = [await up(), await up(), await up()];
  for (const slot of await Promise.all(waiting.map(slotOf))) slot.release();
  await vi.advanceTimersByTimeAsync(2000);
  const isAwake = instances.map(({ calls, stopped }) => calls.length === 0 && !stopped);
  expect(isAwake).toEqual([true, false, false]);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect([pool.size, budget()]).toEqual([1, 9]);
  expect(instances[0]?.stopped).toBe(false);
});

test("replaces an instance of the minimum that exits", async () => {
  const { pool, starting, up, events } = poolOf({ minInstances: 1 });
  pool.startMissing();
  const first = await up();
  first.end({ code: 3 });
  await vi.advanceTimersByTimeAsync(0);
  expect(starting).toHaveLength(1);
  const second = await up();
  expect(pool.tryAcquire()?.pooled.instance.id).toBe(second.id);
  expect(events).toEqual(["started i1", "crashed i1 3", "started i2"]);
});

test("tries again with pauses if the minimum cannot start", async () => {
  const { pool, starting, fail } = poolOf({ minInstances: 1 });
  pool.startMissing();
  await fail();
  expect(starting).toHaveLength(0);
  await vi.advanceTimersByTimeAsync(500);
  expect(starting).toHaveLength(1);
  await fail();
  await vi.advanceTimersByTimeAsync(900);
  expect(starting).toHaveLength(0);
  await vi.advanceTimersByTimeAsync(200);
  expect(starting).toHaveLength(1);
});

test("a request after a failed start gets its failure, although the pool tries again", async () => {
  const { pool, acquire, starting, fail } = poolOf({ minInstances: 1 });
  pool.startMissing();
  await fail();
  expect(await acquire()).toEqual({ kind: "did_not_start", failure: FAILURE });
  await vi.advanceTimersByTimeAsync(500);
  expect(starting).toHaveLength(1);
});

test("waits for the account's budget, and a retired pool starts nothing", async () => {
  const { pool, starting, setBudget } = poolOf({ minInstances: 2 });
  setBudget(0);
  pool.startMissing();
  expect(starting).toHaveLength(0);
  setBudget(1);
  await vi.advanceTimersByTimeAsync(500);
  expect(starting).toHaveLength(1);
  void pool.retire(0);
  setBudget(5);
  await vi.advanceTimersByTimeAsync(5000);
  expect(starting).toHaveLength(1);
});

test("waits longer each time before it replaces an instance that exited soon after its start", async () => {
  const { pool, starting, up } = poolOf({ minInstances: 1 });
  pool.startMissing();
  (await up()).end({ code: 1 });
  await vi.advanceTimersByTimeAsync(0);
  expect(starting).toHaveLength(1);
  (await up()).end({ code: 1 });
  await vi.advanceTimersByTimeAsync(400);
  expect(starting).toHaveLength(0);
  await vi.advanceTimersByTimeAsync(200);
  expect(starting).toHaveLength(1);
  // After an instance that lived long, the replacement starts immediately again.
  const stable = await up();
  await vi.advanceTimersByTimeAsync(20_000);
  stable.end({ code: 1 });
  await vi.advanceTimersByTimeAsync(0);
  expect(starting).toHaveLength(1);
});

test("thaws a frozen instance for the minimum before it starts another one", async () => {
  const { acquire, up, starting } = poolOf({ minInstances: 1, idle: "freeze", idleMillis: 1000 });
  const waiting = [acquire(), acquire()];
  const [first, second] = [await up(), await up()];
  for (const slot of await Promise.all(waiting.map(slotOf))) slot.release();
  await vi.advanceTimersByTimeAsync(2000);
  expect([first.calls, second.calls]).toEqual([[], ["freeze"]]);
  first.end({ code: 1 });
  await vi.advanceTimersByTimeAsync(0);
  expect([second.calls, starting.length]).toEqual([["freeze", "thaw"], 0]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(second.calls).toEqual(["freeze", "thaw"]);
});
