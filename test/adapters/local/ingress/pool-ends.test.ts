/** When a pool stops instances, how it handles exits, and how it retires. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { poolOf, slotOf } from "../../../support/providers/fake-pool.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("ends", () => {
  test("stops an instance after the idle time, unless it has a request", async () => {
    const { pool, acquire, up, events, budget } = poolOf({ idleMillis: 1000 });
    const waiting = [acquire(), acquire()];
    const [busy, idle] = [await up(), await up()];
    const [, second] = await Promise.all(waiting.map(slotOf));
    await vi.advanceTimersByTimeAsync(700);
    second?.release();
    second?.release();
    await vi.advanceTimersByTimeAsync(900);
    expect(pool.size).toBe(2);
    await vi.advanceTimersByTimeAsync(200);
    expect([busy.stopped, idle.stopped]).toEqual([false, true]);
    expect(pool.size).toBe(1);
    expect(budget()).toBe(9);
    expect(events.filter((event) => !event.startsWith("started"))).toEqual(["idle i2"]);
  });

  test("reports an exit as a crash, and starts another instance for waiting requests", async () => {
    const { acquire, up, starting, events } = poolOf({ maxInstances: 1 });
    const slot = acquire();
    const first = await up();
    const waits = acquire();
    first.end({ code: 3 });
    (await slotOf(slot)).release();
    await vi.advanceTimersByTimeAsync(0);
    expect(starting).toHaveLength(1);
    const second = await up();
    expect((await slotOf(waits)).pooled.instance.id).toBe(second.id);
    expect(events).toEqual(["started i1", "crashed i1 3", "started i2"]);
  });

  test("reports the exit code of an unreachable instance that exits before it is stopped", async () => {
    const { pool, acquire, up, events } = poolOf();
    const slot = acquire();
    const instance = await up();
    const { pooled, release } = await slotOf(slot);
    pool.giveUp(pooled);
    release();
    expect(pool.tryAcquire()).toBeUndefined();
    await vi.advanceTimersByTimeAsync(500);
    instance.end({ code: 7 });
    await vi.advanceTimersByTimeAsync(5000);
    expect(instance.stopped).toBe(false);
    expect(events).toEqual(["started i1", "crashed i1 7"]);
  });

  test("stops an unreachable instance that keeps running", async () => {
    const { pool, acquire, up, events } = poolOf();
    const slot = acquire();
    const instance = await up();
    pool.giveUp((await slotOf(slot)).pooled);
    await vi.advanceTimersByTimeAsync(1000);
    expect(instance.stopped).toBe(true);
    expect(pool.size).toBe(0);
    expect(events).toEqual(["started i1", "unreachable i1"]);
  });
});

describe("retirement", () => {
  test("refuses waiting requests, cancels starts, and stops each instance after its last request", async () => {
    const { pool, acquire, up, starting, budget } = poolOf({ maxInstances: 2, concurrency: 2 });
    const slot = acquire();
    const instance = await up();
    const both = [await slotOf(slot), await slotOf(acquire())];
    const waits = acquire();
    expect(starting).toHaveLength(1);
    const retired = pool.retire(10_000);
    expect(await waits).toEqual({ kind: "retired" });
    expect(await acquire()).toEqual({ kind: "retired" });
    expect(starting[0]?.signal.aborted).toBe(true);
    starting.shift()?.resolve({ reason: "interrupted", message: "" });
    both[0]?.release();
    await vi.advanceTimersByTimeAsync(100);
    expect(instance.stopped).toBe(false);
    both[1]?.release();
    expect(instance.stopped).toBe(true);
    await vi.advanceTimersByTimeAsync(100);
    await retired;
    expect(budget()).toBe(10);
  });

  test("stops busy instances when the drain time ends", async () => {
    const { pool, acquire, up } = poolOf();
    const slot = acquire();
    const instance = await up();
    await slot;
    const retired = pool.retire(1000);
    await vi.advanceTimersByTimeAsync(900);
    expect(instance.stopped).toBe(false);
    // A change of the machine's clock does not prolong the drain.
    vi.setSystemTime(Date.now() - 3_600_000);
    await vi.advanceTimersByTimeAsync(200);
    expect(instance.stopped).toBe(true);
    await retired;
  });

  test("stops an instance that becomes ready only during the retirement", async () => {
    const { pool, acquire, up, budget } = poolOf();
    void acquire();
    const retired = pool.retire(1000);
    const instance = await up();
    await retired;
    expect(instance.stopped).toBe(true);
    expect(budget()).toBe(10);
  });
});
