/** When instances without requests are frozen and stopped, and which frozen ones stop early. */
import { array, assert, boolean, constantFrom, integer, nat, property, record } from "fast-check";
import { describe, expect, test } from "vitest";
import {
  beyondBudget,
  isBusy,
  nextSleepAt,
  nextSleepStep,
  oldestFirst,
} from "../../../../adapters/local/ingress/sleep.ts";

const rules = record({
  idle: constantFrom("freeze" as const, "stop" as const),
  idleMillis: integer({ min: 1, max: 1000 }),
  stopAfterMillis: integer({ min: 1, max: 1000 }),
});

describe("nextSleepStep", () => {
  test.each([
    ["an idle instance freezes first", false, "freeze", 300, 1800, { action: "freeze", afterMillis: 300 }],
    ["a frozen instance stops later", true, "freeze", 300, 1800, { action: "stop", afterMillis: 1800 }],
    ["an idle instance stops if freezing is off", false, "stop", 300, 1800, { action: "stop", afterMillis: 300 }],
    ["a stop before the idle time", false, "freeze", 300, 60, { action: "stop", afterMillis: 60 }],
    ["a stop at the idle time", false, "freeze", 300, 300, { action: "stop", afterMillis: 300 }],
  ] as const)("%s", (_what, isFrozen, idle, idleMillis, stopAfterMillis, step) => {
    expect(nextSleepStep(isFrozen, { idle, idleMillis, stopAfterMillis })).toEqual(step);
  });

  test("for any rules: a frozen instance stops, and an instance freezes only before that", () =>
    assert(
      property(rules, (one) => {
        const [awake, frozen] = [nextSleepStep(false, one), nextSleepStep(true, one)];
        expect(frozen.action).toBe("stop");
        if (awake.action === "freeze") expect(awake.afterMillis).toBeLessThan(frozen.afterMillis);
        else expect(awake).toEqual(frozen);
        expect(awake.action === "freeze" && one.idle === "stop").toBe(false);
      }),
    ));
});

const activity = record({ active: nat(2), idleSince: nat(1000), busyUntil: nat(3000), frozen: boolean() });

describe("a busy lease", () => {
  test("for any instance: it is busy if and only if it has a request, or a lease that has not ended", () =>
    assert(
      property(activity, nat(4000), (one, now) => {
        expect(isBusy(one, now)).toBe(one.active > 0 || now < one.busyUntil);
        expect(isBusy({ ...one, busyUntil: now }, now)).toBe(one.active > 0);
      }),
    ));

  test("for any instance without requests: no step is due while the lease lasts", () =>
    assert(
      property(activity, rules, nat(4000), (one, rule, now) => {
        const idle = { ...one, active: 0 };
        if (isBusy(idle, now)) expect(nextSleepAt(idle, rule)).toBeGreaterThan(now);
      }),
    ));

  test("for any instance: the end of a lease counts like the end of a request", () =>
    assert(
      property(activity, rules, (one, rule) => {
        const [before, ended] = [Math.min(one.idleSince, one.busyUntil), Math.max(one.idleSince, one.busyUntil)];
        expect(nextSleepAt(one, rule)).toBe(nextSleepAt({ ...one, idleSince: ended, busyUntil: before }, rule));
        expect(nextSleepAt(one, rule)).toBe(ended + nextSleepStep(one.frozen, rule).afterMillis);
      }),
    ));
});

const sleepers = array(record({ idleSince: nat(100), memory: nat(1000) }), { maxLength: 20 });
const memoryOf = (all: readonly { readonly memory: number }[]) => all.reduce((sum, { memory }) => sum + memory, 0);

describe("beyondBudget", () => {
  test("for any instances: stops the oldest ones, as few as possible, and the others fit", () =>
    assert(
      property(sleepers, nat(10_000), (frozen, budget) => {
        const stopped = beyondBudget(frozen, budget);
        const order = oldestFirst(frozen);
        expect(stopped).toEqual(order.slice(0, stopped.length));
        expect(memoryOf(order.slice(stopped.length))).toBeLessThanOrEqual(budget);
        if (stopped.length > 0) expect(memoryOf(order.slice(stopped.length - 1))).toBeGreaterThan(budget);
      }),
    ));

  test("orders by the last request", () => {
    const [young, old] = [
      { idleSince: 2, memory: 1 },
      { idleSince: 1, memory: 1 },
    ];
    expect(oldestFirst([young, old])).toEqual([old, young]);
    expect(beyondBudget([young, old], 1)).toEqual([old]);
  });
});
