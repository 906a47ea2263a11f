/** Two accounts, or two replicas, race for one name: one gets it, the other gets an error and changes nothing. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { createManualClock, createMemoryProvider, delayed } from "../../../../adapters/memory/index.ts";
import type { DeployEvent } from "../../../../core/domain/deploy/events.ts";
import type { Provider } from "../../../../core/ports/provider.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import { type MemoryPlatform, startMemory } from "../../../support/providers/memory-platform.ts";
import { runs } from "../../../support/vitest/runs.ts";

/** Two control planes on one cloud, each with its own latencies. */
const replicas = (delays: readonly (readonly number[])[]): MemoryPlatform[] => {
  const clock = createManualClock();
  const memory = createMemoryProvider({ clock });
  return delays.map((own) => {
    let calls = 0;
    const pause = () => own[calls++ % own.length] ?? 0;
    const around = ({ builder, services }: Provider) => ({
      builder: delayed(builder, clock, pause),
      services: delayed(services, clock, pause),
    });
    return startMemory({ clock, memory, around });
  });
};

/** The outcome of a deploy, from the response or from the stream. */
const outcomeOf = async (
  platform: MemoryPlatform,
  fields: Record<string, unknown>,
  account: string,
): Promise<DeployEvent | string> => {
  const run = await platform.submit(fields, account);
  return run.isErr() ? run.error.kind : ((await Array.fromAsync(run.value.follow())).at(-1) as DeployEvent);
};

const reasonOrStatus = (outcome: DeployEvent | string): string =>
  typeof outcome === "string" ? outcome : (outcome.reason ?? outcome.status);

const delays = fc.array(fc.integer({ min: 0, max: 5000 }), { minLength: 1, maxLength: 8 });

test.each(["one replica", "two replicas"])(
  "two accounts, %s: one owns the name, nothing is replaced",
  async (where) => {
    await fc.assert(
      fc.asyncProperty(delays, delays, fc.nat({ max: 10_000 }), async (first, second, later) => {
        const [one, two] = replicas([first, second]);
        if (one === undefined || two === undefined) throw new Error("the test needs two replicas");
        const race = async () => {
          const mine = outcomeOf(one, { port: 3000 }, "acme");
          await one.clock.sleep(later);
          const theirs = outcomeOf(where === "one replica" ? one : two, { port: 4000 }, "other");
          return Promise.all([mine, theirs]);
        };
        const [mine, theirs] = (await whileTicking(one.clock, race())).map(reasonOrStatus);
        const acmeWon = mine === "DONE";
        // A request for a taken name is rejected before its stream begins.
        expect(acmeWon ? ["name_taken", "forbidden"] : ["DONE"]).toContain(theirs);
        if (!acmeWon) expect(["name_taken", "forbidden"]).toContain(mine);
        const held = (await one.memory.provider.services.find("app" as never))._unsafeUnwrap();
        expect(held).toMatchObject({
          kind: "held",
          owner: acmeWon ? "acme" : "other",
          service: { serving: [{ id: "app-00001", template: { port: acmeWon ? 3000 : 4000 } }], rollingOut: null },
        });
      }),
      runs(60),
    );
  },
);

test("one account, two replicas: a deploy that loses ends with `superseded`, and its revision never serves", async () => {
  await fc.assert(
    fc.asyncProperty(delays, delays, fc.nat({ max: 10_000 }), async (first, second, later) => {
      const [one, two] = replicas([first, second]);
      if (one === undefined || two === undefined) throw new Error("the test needs two replicas");
      await whileTicking(one.clock, outcomeOf(one, { port: 2000 }, "acme"));
      const race = async () => {
        const here = outcomeOf(one, { port: 3000 }, "acme");
        await one.clock.sleep(later);
        return Promise.all([here, outcomeOf(two, { port: 4000 }, "acme")]);
      };
      const outcomes = (await whileTicking(one.clock, race())).map(reasonOrStatus);
      for (const outcome of outcomes) expect(["DONE", "superseded"]).toContain(outcome);
      expect(outcomes).toContain("DONE");
      const [listed] = (await one.memory.provider.services.list("acme" as never))._unsafeUnwrap();
      const winners = [3000, 4000].filter((_, index) => outcomes[index] === "DONE");
      expect(winners).toContain(listed?.serving[0]?.template.port);
      expect(listed?.rollingOut).toBeNull();
    }),
    runs(60),
  );
});
