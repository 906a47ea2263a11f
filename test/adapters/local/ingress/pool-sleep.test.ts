/** How a pool freezes idle instances, and wakes them for requests. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { poolOf, slotOf } from "../../../support/providers/fake-pool.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A pool whose only instance has just become idle. */
const idlePool = async (config: Parameters<typeof poolOf>[0] = {}) => {
  const made = poolOf({ idle: "freeze", idleMillis: 1000, stopAfterMillis: 10_000, ...config });
  const slot = made.acquire();
  const instance = await made.up();
  (await slotOf(slot)).release();
  made.events.splice(0);
  return { ...made, instance };
};

test("freezes an idle instance, and stops it after the second idle time", async () => {
  const { pool, events, instance, budget } = await idlePool();
  await vi.advanceTimersByTimeAsync(900);
  expect(instance.calls).toEqual([]);
  await vi.advanceTimersByTimeAsync(200);
  expect(instance.calls).toEqual(["freeze"]);
  expect(pool.load).toMatchObject({ busy: 0, idle: 0, frozen: 1 });
  await vi.advanceTimersByTimeAsync(8800);
  expect(instance.stopped).toBe(false);
  await vi.advanceTimersByTimeAsync(200);
  expect(instance.stopped).toBe(true);
  expect(budget()).toBe(10);
  expect(events).toEqual(["frozen i1", "idle i1"]);
});

test("thaws a frozen instance once for concurrent requests, and starts no other", async () => {
  const { pool, acquire, events, instance, starting } = await idlePool({ concurrency: 3, queueLimit: 0 });
  await vi.advanceTimersByTimeAsync(1100);
  const thaw = Promise.withResolvers<void>();
  instance.thaws = thaw.promise;
  expect(pool.tryAcquire()).toBeUndefined();
  const waiting = [acquire(), acquire(), acquire()];
  await vi.advanceTimersByTimeAsync(5000);
  expect(pool.load).toMatchObject({ busy: 1, frozen: 0 });
  expect(events).toEqual(["frozen i1"]);
  thaw.resolve();
  const slots = await Promise.all(waiting.map(slotOf));
  expect(slots.map(({ pooled }) => pooled.instance.id)).toEqual(["i1", "i1", "i1"]);
  expect(instance.calls).toEqual(["freeze", "thaw"]);
  expect(events).toEqual(["frozen i1", "thawed i1"]);
  expect(starting).toEqual([]);
  slots[0]?.release();
  expect(pool.tryAcquire()?.pooled.instance.id).toBe("i1");
});

test("freezes again after the next idle time", async () => {
  const { acquire, events } = await idlePool();
  await vi.advanceTimersByTimeAsync(5000);
  (await slotOf(acquire())).release();
  await vi.advanceTimersByTimeAsync(900);
  expect(events).toEqual(["frozen i1", "thawed i1"]);
  await vi.advanceTimersByTimeAsync(200);
  expect(events).toEqual(["frozen i1", "thawed i1", "frozen i1"]);
});

test("prefers an instance that is not frozen, except for a client that is bound to a frozen one", async () => {
  const { pool, acquire, up, events } = poolOf({ idle: "freeze", idleMillis: 1000, stopAfterMillis: 10_000 });
  const waiting = [acquire(), acquire()];
  await up();
  await up();
  const [first, second] = await Promise.all(waiting.map(slotOf));
  first?.release();
  await vi.advanceTimersByTimeAsync(1100);
  expect(events.at(-1)).toBe("frozen i1");
  second?.release();
  expect(pool.tryAcquire("i1")).toBeUndefined();
  expect(pool.tryAcquire()?.pooled.instance.id).toBe("i2");
  expect((await slotOf(acquire("i1"))).pooled.instance.id).toBe("i1");
});

test("starts another instance for a request whose frozen instance cannot be thawed", async () => {
  const { acquire, up, events, instance } = await idlePool();
  await vi.advanceTimersByTimeAsync(1100);
  const thaw = Promise.withResolvers<void>();
  instance.thaws = thaw.promise;
  const waits = acquire();
  thaw.reject(new Error("no"));
  await vi.advanceTimersByTimeAsync(0);
  await up();
  expect((await slotOf(waits)).pooled.instance.id).toBe("i2");
  await vi.advanceTimersByTimeAsync(1000);
  expect(instance.stopped).toBe(true);
  expect(events).toEqual(["frozen i1", "failed i1 no", "started i2", "unreachable i1"]);
});

test("stops an instance that cannot be frozen", async () => {
  const { events, instance } = await idlePool();
  instance.cannotFreeze = true;
  await vi.advanceTimersByTimeAsync(1100);
  expect(instance.stopped).toBe(true);
  expect(events).toEqual(["failed i1 it cannot be paused", "idle i1"]);
});

test("stops frozen instances when another revision takes over, but finishes a request that waits for a thaw", async () => {
  const { pool, acquire, instance } = await idlePool();
  await vi.advanceTimersByTimeAsync(1100);
  const thaw = Promise.withResolvers<void>();
  instance.thaws = thaw.promise;
  const waits = acquire();
  const retired = pool.retire(60_000);
  thaw.resolve();
  const slot = await slotOf(waits);
  await vi.advanceTimersByTimeAsync(100);
  expect(instance.stopped).toBe(false);
  slot.release();
  await vi.advanceTimersByTimeAsync(100);
  await retired;
  expect(instance.stopped).toBe(true);
});

test("reports the exit of a frozen instance as a crash, and starts another one for the next request", async () => {
  const { acquire, up, events, instance } = await idlePool();
  await vi.advanceTimersByTimeAsync(1100);
  instance.end({ code: null, signal: "SIGKILL" });
  await vi.advanceTimersByTimeAsync(0);
  const waits = acquire();
  await up();
  expect((await slotOf(waits)).pooled.instance.id).toBe("i2");
  expect(events).toEqual(["frozen i1", "crashed i1 SIGKILL", "started i2"]);
});

test.each(["freeze", "stop"] as const)("never freezes or stops an instance with a busy lease (%s)", async (idle) => {
  const { pool, events, instance } = await idlePool({ idle });
  instance.lease(Date.now() + 60_000);
  await vi.advanceTimersByTimeAsync(59_900);
  expect(events).toEqual([]);
  expect(pool.load).toMatchObject({ busy: 1, idle: 0, frozen: 0 });
  // The idle time begins at the end of the lease.
  await vi.advanceTimersByTimeAsync(1000);
  expect(events).toEqual([]);
  expect(pool.load).toMatchObject({ busy: 0, idle: 1 });
  await vi.advanceTimersByTimeAsync(200);
  expect(events).toEqual([idle === "freeze" ? "frozen i1" : "idle i1"]);
});

test("freezes an instance one idle time after it has released its lease", async () => {
  const { events, instance } = await idlePool();
  instance.lease(Date.now() + 60_000);
  await vi.advanceTimersByTimeAsync(5000);
  instance.lease(Date.now());
  await vi.advanceTimersByTimeAsync(900);
  expect(events).toEqual([]);
  await vi.advanceTimersByTimeAsync(200);
  expect(events).toEqual(["frozen i1"]);
});

test("thaws an instance whose lease arrives while it is being frozen, and freezes it after the lease", async () => {
  const { pool, events, instance } = await idlePool();
  await vi.advanceTimersByTimeAsync(1100);
  instance.lease(Date.now() + 5000);
  expect(pool.frozen).toEqual([]);
  await vi.advanceTimersByTimeAsync(0);
  expect(instance.calls).toEqual(["freeze", "thaw"]);
  expect(pool.load).toMatchObject({ busy: 1, frozen: 0 });
  await vi.advanceTimersByTimeAsync(5900);
  expect(instance.calls).toEqual(["freeze", "thaw"]);
  await vi.advanceTimersByTimeAsync(200);
  expect(events).toEqual(["frozen i1", "thawed i1", "frozen i1"]);
});

test("drains until the lease ends, or until the drain time has passed", async () => {
  for (const [drainMillis, stopsAfter] of [
    [60_000, 5000],
    [2000, 2000],
  ] as const) {
    const { pool, instance } = await idlePool();
    instance.lease(Date.now() + 5000);
    const retired = pool.retire(drainMillis);
    await vi.advanceTimersByTimeAsync(stopsAfter - 100);
    expect(instance.stopped).toBe(false);
    await vi.advanceTimersByTimeAsync(200);
    expect(instance.stopped).toBe(true);
    await retired;
  }
});

test("a drain stops an instance when it releases its lease", async () => {
  const { pool, instance } = await idlePool();
  instance.lease(Date.now() + 50_000);
  const retired = pool.retire(60_000);
  await vi.advanceTimersByTimeAsync(1000);
  instance.lease(Date.now());
  await vi.advanceTimersByTimeAsync(100);
  await retired;
  expect(instance.stopped).toBe(true);
});

test("a drain keeps an instance with a lease when its last request ends", async () => {
  const { pool, acquire, instance } = await idlePool();
  const slot = await slotOf(acquire());
  instance.lease(Date.now() + 5000);
  const retired = pool.retire(60_000);
  slot.release();
  await vi.advanceTimersByTimeAsync(4900);
  expect(instance.stopped).toBe(false);
  await vi.advanceTimersByTimeAsync(200);
  await retired;
  expect(instance.stopped).toBe(true);
});
