/** The arithmetic of scaling: how many instances are started, and which one gets a request. */
import { array, assert, integer, nat, property } from "fast-check";
import { describe, expect, test } from "vitest";
import { chooseInstance, instancesToStart } from "../../../../adapters/local/ingress/scale.ts";

describe("instancesToStart", () => {
  const idle = { waiting: 0, starting: 0, ready: 0, concurrency: 80, maxInstances: 10 };
  test.each([
    ["nobody waits", idle, 0],
    ["one waits at zero", { ...idle, waiting: 1 }, 1],
    ["as many wait as one instance takes", { ...idle, waiting: 80 }, 1],
    ["one more waits than one instance takes", { ...idle, waiting: 81 }, 2],
    ["what is on its way is enough", { ...idle, waiting: 80, starting: 1 }, 0],
    ["what is on its way is not enough", { ...idle, waiting: 81, starting: 1 }, 1],
    ["the full ones do not count for those who wait", { ...idle, waiting: 1, ready: 2 }, 1],
    ["more wait than the most instances take", { ...idle, waiting: 8, concurrency: 2, maxInstances: 2 }, 2],
    ["the most instances run", { ...idle, waiting: 8, concurrency: 2, ready: 2, maxInstances: 2 }, 0],
    ["the last free instance", { ...idle, waiting: 8, concurrency: 2, ready: 1, maxInstances: 2 }, 1],
  ] as const)("%s", (_words, load, count) => {
    expect(instancesToStart(load)).toBe(count);
  });

  test("for any load: never below zero, never over the most, and enough for all who wait where that allows", () => {
    const size = { min: 1, max: 1000 };
    return assert(
      property(nat(500), nat(50), nat(50), integer(size), integer(size), (waiting, starting, up, concurrency, room) => {
        const maxInstances = up + starting + room - 1;
        const count = instancesToStart({ waiting, starting, ready: up, concurrency, maxInstances });
        expect(count).toBeGreaterThanOrEqual(0);
        expect(up + starting + count).toBeLessThanOrEqual(maxInstances);
        const roomForAll = (starting + count) * concurrency >= waiting;
        expect(roomForAll || up + starting + count === maxInstances).toBe(true);
        // And none too many: without one of them somebody would have no place.
        expect(count === 0 || (starting + count - 1) * concurrency < waiting).toBe(true);
      }),
    );
  });
});

describe("chooseInstance", () => {
  test.each([
    ["there is none", [], 80, undefined],
    ["an idle one", [0], 80, 0],
    ["the older one is filled first", [10, 0], 80, 0],
    ["past its fill the younger one gets the next", [48, 0], 80, 1],
    ["all past their fill: the least busy one", [60, 50, 55], 80, 1],
    ["all full", [80, 80], 80, undefined],
    ["one request at once", [1, 0], 1, 1],
    ["one request at once, all full", [1, 1], 1, undefined],
    ["two requests at once", [1, 0], 2, 0],
  ] as const)("%s", (_words, active, concurrency, index) => {
    expect(chooseInstance(active, concurrency)).toBe(index);
  });

  test("for any load: an instance with room, wherever there is one", () =>
    assert(
      property(integer({ min: 1, max: 1000 }), array(nat(1000), { maxLength: 20 }), (concurrency, loads) => {
        const active = loads.map((load) => Math.min(load, concurrency));
        const index = chooseInstance(active, concurrency);
        if (index === undefined) expect(active.every((load) => load === concurrency)).toBe(true);
        else expect(active[index]).toBeLessThan(concurrency);
      }),
    ));
});
