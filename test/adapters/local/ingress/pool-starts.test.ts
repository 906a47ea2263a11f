/** When a pool starts instances, and how it handles failed starts. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Slot } from "../../../../adapters/local/ingress/pool.ts";
import { FAILURE, poolOf, slotOf } from "../../../support/providers/fake-pool.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("starts", () => {
  test("starts as many instances as waiting requests need, and serves the longest waiting first", async () => {
    const { pool, acquire, starting, up } = poolOf({ concurrency: 2 });
    const order: number[] = [];
    const waiting = [1, 2, 3].map((count) => acquire().then(() => order.push(count)));
    expect(starting).toHaveLength(2);
    await up();
    expect(order).toEqual([1, 2]);
    await up();
    await Promise.all(waiting);
    expect(pool.size).toBe(2);
  });

  test("refuses waiting and following requests for a moment after a failed start", async () => {
    const { acquire, starting, fail, up, budget } = poolOf();
    const refusal = { kind: "did_not_start", failure: FAILURE };
    const waiting = [acquire(), acquire()];
    await fail();
    await fail();
    expect(await Promise.all(waiting)).toEqual([refusal, refusal]);
    expect(budget()).toBe(10);
    expect(await acquire()).toEqual(refusal);
    expect(starting).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1000);
    const later = acquire();
    expect(starting).toHaveLength(1);
    const instance = await up();
    expect((await slotOf(later)).pooled.instance.id).toBe(instance.id);
  });

  test("starts an instance after the pause even if the machine's clock was set back", async () => {
    const { acquire, starting, fail } = poolOf();
    const waiting = acquire();
    await fail();
    expect(await waiting).toMatchObject({ kind: "did_not_start" });
    vi.setSystemTime(Date.now() - 3_600_000);
    await vi.advanceTimersByTimeAsync(1000);
    void acquire();
    expect(starting).toHaveLength(1);
  });

  test("does not refuse requests that another starting instance will serve", async () => {
    const { acquire, starting, fail, up } = poolOf();
    const waiting = [acquire(), acquire()];
    await fail();
    const instance = await up();
    expect((await slotOf(waiting[0] as Promise<Slot>)).pooled.instance.id).toBe(instance.id);
    // The other request waits for a further start.
    expect(starting).toHaveLength(1);
    await up();
    await slotOf(waiting[1] as Promise<Slot>);
  });

  test("retries failed starts later while an instance runs", async () => {
    const { acquire, starting, fail, up } = poolOf();
    const first = acquire();
    await up();
    await slotOf(first);
    const waits = acquire();
    await fail();
    expect(starting).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(500);
    expect(starting).toHaveLength(1);
    await fail();
    await vi.advanceTimersByTimeAsync(900);
    expect(starting).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(100);
    await up();
    await slotOf(waits);
  });

  test("waits for the account's budget, and uses the rest of it", async () => {
    const { acquire, starting, up, setBudget } = poolOf();
    setBudget(1);
    const waiting = [acquire(), acquire()];
    expect(starting).toHaveLength(1);
    await up();
    await slotOf(waiting[0] as Promise<Slot>);
    await vi.advanceTimersByTimeAsync(2000);
    expect(starting).toHaveLength(0);
    setBudget(1);
    await vi.advanceTimersByTimeAsync(500);
    expect(starting).toHaveLength(1);
    await up();
    await slotOf(waiting[1] as Promise<Slot>);
  });

  test("lets one request wait without a queue if no instance runs, because it starts the service", async () => {
    const { acquire, starting, up } = poolOf({ queueLimit: 0 });
    const first = acquire();
    expect(starting).toHaveLength(1);
    expect(await acquire()).toEqual({ kind: "full" });
    await up();
    await slotOf(first);
    expect(await acquire()).toEqual({ kind: "full" });
  });
});
