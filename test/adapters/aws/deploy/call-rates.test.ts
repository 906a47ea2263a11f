/** How many calls rollouts make, and how fast, on a virtual clock that stands still during calls. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import type { RolloutEvent } from "../../../../core/ports/service-platform.ts";
import { countCalls, whileTickingQuietly } from "../../../support/clocks/quiet-ticking.ts";
import { ecsRollouts, type FakeEcsPlatform, openFakeEcs } from "../../../support/providers/ecs-platform.ts";

/** `npm run soak` sets the variable. */
const DEPLOYMENTS = process.env["PORTSIDE_ADVERSE"] === "all" ? 100 : 4;

const clock = createManualClock();
let run: FakeEcsPlatform;
let calls: ReturnType<typeof countCalls>;

beforeEach(async () => {
  run = await openFakeEcs(
    { adverse: new Set(["call_rates", "draining_shown"]), rules: 1000, targetGroups: 1000 },
    clock,
  );
  calls = countCalls();
  for (const client of Object.values(run.given)) calls.watch(client);
});
afterEach(() => run.close());

const ticking = <T>(work: PromiseLike<T>): Promise<T> => whileTickingQuietly(clock, work, calls.areInFlight);

const now = (): number => millisOf(clock.now());

const redeploy = async (name: string) =>
  run.endOf(run.template(name, "acme", { timeout: 31 }), await run.expectedOf(name));

const kinds = (ends: readonly (RolloutEvent | undefined)[]): unknown => new Set(ends.map((end) => end?.kind));

const timeoutOf = async (name: string): Promise<unknown> =>
  (await ticking(run.serviceOf(name))).serving.map(({ template }) => template.timeout);

test("a redeploy of two minutes makes at most 65 calls", async () => {
  await ticking(run.rollOut(run.template("app"), "absent"));
  Object.assign(run.ecs.startMillis, { pending: 35_000, unhealthy: 40_000 });
  const expected = await ticking(run.expectedOf("app"));
  for (const faults of Object.values(run.faultsOf)) faults.clear();
  const begun = now();
  const end = await ticking(run.endOf(run.template("app", "acme", { timeout: 31 }), expected));
  expect(end?.kind).toBe("ready");
  expect(now() - begun).toBeGreaterThanOrEqual(120_000);
  expect(Object.values(run.faultsOf).flatMap(({ log }) => [...log]).length).toBeLessThanOrEqual(65);
});

test("simultaneous redeploys stay below AWS's rates, and all succeed", async () => {
  const names = Array.from({ length: DEPLOYMENTS }, (_, index) => `app-${index}`);
  const first = await ticking(Promise.all(names.map((name) => run.endOf(run.template(name), "absent"))));
  expect(kinds(first)).toEqual(new Set(["ready"]));
  const ends = await ticking(Promise.all(names.map((name) => redeploy(name))));
  expect(kinds(ends)).toEqual(new Set(["ready"]));
  for (const name of names) expect(await timeoutOf(name)).toEqual([31]);
  expect([...run.ecs.throttled, ...run.balancer.throttled]).toEqual([]);
  ecsRollouts.onlyServing(run, names);
});
