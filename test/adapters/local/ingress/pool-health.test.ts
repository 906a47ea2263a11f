/** When a pool checks its instances, and how it replaces an unhealthy one. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { PoolConfig } from "../../../../adapters/local/ingress/pool.ts";
import type { HealthResult } from "../../../../adapters/local/instances/health-check.ts";
import { poolOf, slotOf } from "../../../support/providers/fake-pool.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const unhealthy: HealthResult = { healthy: false, problem: "responded with status 503" };

/** A pool that checks every second, and whose instances fail if they are in `sick`. */
const checkedPool = (config: Partial<PoolConfig> = {}) => {
  const sick = new Set<string>();
  const checks: string[] = [];
  const reports: string[] = [];
  const made = poolOf({
    health: {
      intervalMillis: 1000,
      failures: 3,
      drainMillis: 5000,
      check: async ({ id }) => {
        checks.push(id);
        return sick.has(id) ? unhealthy : { healthy: true };
      },
      onUnhealthy: ({ id }, problem) => reports.push(`${id} ${problem}`),
    },
    ...config,
  });
  return { ...made, sick, checks, reports };
};

test("replaces an instance after consecutive failures only, while others take its requests", async () => {
  const { pool, acquire, up, starting, sick, reports } = checkedPool({ concurrency: 2 });
  const waiting = [acquire(), acquire(), acquire()];
  const [first, second] = [await up(), await up()];
  const slots = await Promise.all(waiting.map(slotOf));
  for (const slot of slots) slot.release();
  sick.add(first.id);
  await vi.advanceTimersByTimeAsync(2500);
  sick.delete(first.id);
  await vi.advanceTimersByTimeAsync(1000);
  sick.add(first.id);
  await vi.advanceTimersByTimeAsync(2000);
  expect([first.stopped, reports]).toEqual([false, []]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(reports).toEqual([`${first.id} responded with status 503`]);
  expect(starting).toHaveLength(1);
  expect((await slotOf(acquire())).pooled.instance.id).toBe(second.id);
  expect(first.stopped).toBe(true);
  await up();
  expect(pool.size).toBe(2);
});

test("an unhealthy instance may finish its requests, within the drain time", async () => {
  const { pool, acquire, up, sick } = checkedPool();
  const waiting = [acquire(), acquire()];
  const [first, second] = [await up(), await up()];
  const [brief] = await Promise.all(waiting.map(slotOf));
  const states = () => pool.instances.map(({ state }) => state);
  expect(states()).toEqual(["ready", "ready"]);
  for (const { id } of [first, second]) sick.add(id);
  await vi.advanceTimersByTimeAsync(3100);
  expect([first.stopped, second.stopped]).toEqual([false, false]);
  expect(states()).toEqual(["unhealthy", "unhealthy"]);
  brief?.release();
  await vi.advanceTimersByTimeAsync(100);
  expect([first.stopped, second.stopped]).toEqual([true, false]);
  await vi.advanceTimersByTimeAsync(5000);
  expect(second.stopped).toBe(true);
});

test("never runs more than the maximum: the replacement starts after the stop", async () => {
  const { acquire, up, starting, sick } = checkedPool({ maxInstances: 1 });
  const slot = acquire();
  const only = await up();
  await slotOf(slot);
  sick.add(only.id);
  await vi.advanceTimersByTimeAsync(3100);
  expect([only.stopped, starting.length]).toEqual([false, 0]);
  await vi.advanceTimersByTimeAsync(5100);
  expect([only.stopped, starting.length]).toEqual([true, 1]);
});

test("checks neither wake an instance nor keep it awake: a frozen one is not checked, and an idle one stops", async () => {
  const { acquire, up, checks, sick, reports } = checkedPool({ idle: "freeze", idleMillis: 2500 });
  const slot = acquire();
  const one = await up();
  (await slotOf(slot)).release();
  await vi.advanceTimersByTimeAsync(2600);
  expect(one.calls).toEqual(["freeze"]);
  expect(checks).toHaveLength(2);
  sick.add(one.id);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(checks).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(600_000);
  expect([one.stopped, reports]).toEqual([true, []]);
});

test("failures before a freeze do not count after it", async () => {
  const { acquire, up, sick, reports } = checkedPool({ idle: "freeze", idleMillis: 2500 });
  const slot = acquire();
  const one = await up();
  (await slotOf(slot)).release();
  sick.add(one.id);
  await vi.advanceTimersByTimeAsync(5000);
  const again = await slotOf(acquire());
  await vi.advanceTimersByTimeAsync(2100);
  expect(reports).toEqual([]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(reports).toHaveLength(1);
  again.release();
});

test("a retired pool replaces nothing", async () => {
  const { pool, acquire, up, sick, starting, reports } = checkedPool();
  const slot = acquire();
  const one = await up();
  await slotOf(slot);
  sick.add(one.id);
  void pool.retire(60_000);
  await vi.advanceTimersByTimeAsync(30_000);
  expect([reports, starting.length]).toEqual([[], 0]);
});

test("an unhealthy instance may finish the work of its busy lease, within the drain time", async () => {
  const { acquire, up, sick } = checkedPool();
  const slot = acquire();
  const one = await up();
  (await slotOf(slot)).release();
  one.lease(Date.now() + 6000);
  sick.add(one.id);
  await vi.advanceTimersByTimeAsync(5000);
  expect(one.stopped).toBe(false);
  await vi.advanceTimersByTimeAsync(1100);
  expect(one.stopped).toBe(true);
});

test("a check that takes as long as the interval delays the next one only until it has ended", async () => {
  const begun: number[] = [];
  const startedAt = Date.now();
  const check = async (): Promise<HealthResult> => {
    begun.push(Date.now() - startedAt);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    return unhealthy;
  };
  const health = { intervalMillis: 1000, failures: 3, drainMillis: 0, check, onUnhealthy: () => undefined };
  const { acquire, up } = poolOf({ health });
  void acquire();
  const one = await up();
  await vi.advanceTimersByTimeAsync(4100);
  expect(begun.map((millis) => Math.round(millis / 100) * 100)).toEqual([1000, 2000, 3000]);
  expect(one.stopped).toBe(true);
});

test("checks at the interval even if the machine's clock is set back during a check", async () => {
  let checks = 0;
  const check = async (): Promise<HealthResult> => {
    checks++;
    vi.setSystemTime(Date.now() - 3_600_000);
    return { healthy: true };
  };
  const health = { intervalMillis: 1000, failures: 3, drainMillis: 0, check, onUnhealthy: () => undefined };
  const { acquire, up } = poolOf({ health });
  void acquire();
  await up();
  await vi.advanceTimersByTimeAsync(3100);
  expect(checks).toBe(3);
});
