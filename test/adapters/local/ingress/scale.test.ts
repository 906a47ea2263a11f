/** Computes how many instances to start, and which one gets a request. */
import { array, assert, integer, nat, property } from "fast-check";
import { describe, expect, test } from "vitest";
import { chooseInstance, instancesToStart } from "../../../../adapters/local/ingress/scale.ts";

describe("instancesToStart", () => {
  const idle = { waiting: 0, starting: 0, ready: 0, concurrency: 80, maxInstances: 10 };
  test.each([
    ["no request waits", idle, 0],
    ["one request waits, and no instance runs", { ...idle, waiting: 1 }, 1],
    ["one instance suffices exactly", { ...idle, waiting: 80 }, 1],
    ["one request more than an instance takes", { ...idle, waiting: 81 }, 2],
    ["starting instances suffice", { ...idle, waiting: 80, starting: 1 }, 0],
    ["starting instances do not suffice", { ...idle, waiting: 81, starting: 1 }, 1],
    ["full instances do not count", { ...idle, waiting: 1, ready: 2 }, 1],
    ["more requests than the maximum of instances takes", { ...idle, waiting: 8, concurrency: 2, maxInstances: 2 }, 2],
    ["the maximum runs", { ...idle, waiting: 8, concurrency: 2, ready: 2, maxInstances: 2 }, 0],
    ["one below the maximum", { ...idle, waiting: 8, concurrency: 2, ready: 1, maxInstances: 2 }, 1],
  ] as const)("%s", (_words, load, count) => {
    expect(instancesToStart(load)).toBe(count);
  });

  test("for any load: never below 0 or above the maximum, and enough for all waiting requests if possible", () => {
    const size = { min: 1, max: 1000 };
    return assert(
      property(nat(500), nat(50), nat(50), integer(size), integer(size), (waiting, starting, up, concurrency, room) => {
        const maxInstances = up + starting + room - 1;
        const count = instancesToStart({ waiting, starting, ready: up, concurrency, maxInstances });
        expect(count).toBeGreaterThanOrEqual(0);
        expect(up + starting + count).toBeLessThanOrEqual(maxInstances);
        const roomForAll = (starting + count) * concurrency >= waiting;
        expect(roomForAll || up + starting + count === maxInstances).toBe(true);
        // No surplus: with one instance fewer, a request would have no place.
        expect(count === 0 || (starting + count - 1) * concurrency < waiting).toBe(true);
      }),
    );
  });
});

describe("chooseInstance", () => {
  test.each([
    ["no instance runs", [], 80, undefined],
    ["an idle one", [0], 80, 0],
    ["the older one is filled first", [10, 0], 80, 0],
    ["past its fill level, the younger one gets the next", [48, 0], 80, 1],
    ["all past their fill level: the least busy one", [60, 50, 55], 80, 1],
    ["all full", [80, 80], 80, undefined],
    ["concurrency 1", [1, 0], 1, 1],
    ["concurrency 1, all full", [1, 1], 1, undefined],
    ["concurrency 2", [1, 0], 2, 0],
  ] as const)("%s", (_words, active, concurrency, index) => {
    expect(chooseInstance(active, concurrency)).toBe(index);
  });

  test("for any load: returns an instance with room if one has room", () =>
    assert(
      property(integer({ min: 1, max: 1000 }), array(nat(1000), { maxLength: 20 }), (concurrency, loads) => {
        const active = loads.map((load) => Math.min(load, concurrency));
        const index = chooseInstance(active, concurrency);
        if (index === undefined) expect(active.every((load) => load === concurrency)).toBe(true);
        else expect(active[index]).toBeLessThan(concurrency);
      }),
    ));
});
