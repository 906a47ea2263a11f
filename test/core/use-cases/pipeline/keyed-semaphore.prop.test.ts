/** Lanes: first come, first served, never more at once than the lane is wide, and nobody is forgotten. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Lanes, type Ticket } from "../../../../core/use-cases/pipeline/keyed-semaphore.ts";
import { runs } from "../../../support/vitest/runs.ts";

describe("by example", () => {
  test("the second waits for the first", async () => {
    const lanes = new Lanes(1);
    const [first, second] = [lanes.enter("a"), lanes.enter("a")];
    expect([first.admitted, second.admitted, lanes.waiting("a"), lanes.hasRoom("a")]).toEqual([true, false, 1, false]);
    first.leave();
    await second.turn;
    expect([second.admitted, lanes.waiting("a")]).toEqual([true, 0]);
    second.leave();
    expect(lanes.hasRoom("a")).toBe(true);
  });

  test("keys do not wait for each other", () => {
    const lanes = new Lanes(1);
    lanes.enter("a");
    expect(lanes.enter("b").admitted).toBe(true);
  });

  test("who leaves the queue before the turn holds up nobody, and leaving twice is leaving once", () => {
    const lanes = new Lanes(1);
    const [first, second, third, fourth] = [lanes.enter("a"), lanes.enter("a"), lanes.enter("a"), lanes.enter("a")];
    second.leave();
    first.leave();
    first.leave();
    expect([second.admitted, third.admitted, fourth.admitted]).toEqual([false, true, false]);
  });
});

/** A lane as a list: who is in it, in order of arrival; the first `width` have their turn. */
type Step = { readonly enter: string } | { readonly leave: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.constantFrom("a", "b").map((enter) => ({ enter })),
  fc.nat({ max: 30 }).map((leave) => ({ leave })),
);

test("any coming and going: who has a turn is exactly the first of those who are there", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3 }), fc.array(step, { maxLength: 60, size: "max" }), (width, steps) => {
      const lanes = new Lanes(width);
      const tickets: { key: string; ticket: Ticket; here: boolean; everAdmitted: boolean }[] = [];
      for (const one of steps) {
        if ("enter" in one)
          tickets.push({ key: one.enter, ticket: lanes.enter(one.enter), here: true, everAdmitted: false });
        else {
          const left = tickets[one.leave % Math.max(1, tickets.length)];
          left?.ticket.leave();
          if (left !== undefined) left.here = false;
        }
        for (const key of ["a", "b"]) {
          const here = tickets.filter((ticket) => ticket.key === key && ticket.here);
          for (const first of here.slice(0, width)) first.everAdmitted = true;
          // Once a turn was given it is kept: with a narrow lane that is the same as being among the first.
          expect(here.map(({ ticket }) => ticket.admitted)).toEqual(here.map((_, index) => index < width));
          expect(lanes.waiting(key)).toBe(Math.max(0, here.length - width));
          expect(lanes.hasRoom(key)).toBe(here.length < width);
        }
      }
      for (const { ticket, everAdmitted } of tickets) expect(ticket.admitted).toBe(everAdmitted);
    }),
    runs(300),
  );
});

test("turns are given in the order of arrival, one promise each", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 1, max: 12 }),
      fc.scheduler(),
      async (width, count, scheduler) => {
        const lanes = new Lanes(width);
        const order: number[] = [];
        let inside = 0;
        const work = async (index: number) => {
          const ticket = lanes.enter("a");
          await ticket.turn;
          order.push(index);
          expect(++inside).toBeLessThanOrEqual(width);
          await scheduler.schedule(Promise.resolve());
          inside--;
          ticket.leave();
        };
        const all = Promise.all(Array.from({ length: count }, (_, index) => work(index)));
        await scheduler.waitFor(all);
        expect(order).toEqual(Array.from({ length: count }, (_, index) => index));
      },
    ),
    runs(100),
  );
});
