/** Rollouts wait for AWS's eventual consistency, and repair changes by hand. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { awsCalls } from "../../../../adapters/aws/call-policy.ts";
import { ecsServices } from "../../../../adapters/aws/deploy/ecs-calls.ts";
import { ecsFault } from "../../../../adapters/aws/deploy/ecs-faults.ts";
import { randomIds } from "../../../../adapters/shared/runtime/system.ts";
import { CLUSTER } from "../../../fakes/aws/ecs/ecs.ts";
import { nameOf } from "../../../support/http/brands.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";
import { type FakeEcsPlatform, openFakeEcs } from "../../../support/providers/ecs-platform.ts";

let run: FakeEcsPlatform;
beforeEach(async () => {
  run = await openFakeEcs();
});
afterEach(() => run.close());

const deploy = async (name = "app") => (await run.rollOut(run.template(name), "absent")).at(-1);

test("a target group that ECS does not know yet to have a load balancer is waited for", async () => {
  run.ecs.settings.triesUntilAssociated = 3;
  expect((await deploy())?.kind).toBe("ready");
});

test("a service that ECS does not take at all is said to the operator, and nothing of it is left", async () => {
  run.ecs.settings.triesUntilAssociated = Number.POSITIVE_INFINITY;
  expect(await deploy()).toMatchObject({ kind: "failed", failure: { reason: "internal" } });
  expect(run.said.some((line) => line.includes("rejected a service"))).toBe(true);
  expect([run.balancer.groups(), run.balancer.rules(), run.ecs.definitions()]).toEqual([[], [], []]);
});

test("a service whose tasks cannot be listed yet has none that stopped, and is looked at again", async () => {
  const call = awsCalls({ clock: run.clock, ids: randomIds, logger: silentLogger }, ecsFault);
  const services = ecsServices(CLUSTER, run.clients, call);
  await deploy();
  const revision = run.routed("app") ?? "";
  run.ecs.settings.listsUntilTasks = 1;
  expect((await services.stopped(revision))._unsafeUnwrap()).toEqual([]);
});

test("definitions are deleted with the variables that they hold, also where they do not show as inactive yet", async () => {
  await deploy();
  run.ecs.settings.listsUntilInactive = Number.POSITIVE_INFINITY;
  (await run.platform.remove(nameOf("app"), await run.expectedOf("app")))._unsafeUnwrap();
  expect(run.ecs.definitions()).toEqual([]);
});

test("a rule that somebody made answer by itself sends requests to the service again", async () => {
  await deploy();
  const [rule] = run.balancer.rules();
  run.balancer.act.ModifyRule({ RuleArn: rule?.RuleArn, Actions: [{ Type: "fixed-response" }] });
  const next = await run.rollOut(run.template("app"), await run.expectedOf("app"));
  const end = next.at(-1);
  expect(end?.kind).toBe("ready");
  expect(run.routed("app")).toBe(end?.kind === "ready" ? end.revision : "");
});

test("a target group that counts as named after its rule is gone is deleted once it does not", async () => {
  const first = run.template("app");
  await run.rollOut(first, "absent");
  run.balancer.settings.deletionsInUse = 2;
  expect((await run.rollOut(run.template("app"), await run.expectedOf("app"))).at(-1)?.kind).toBe("ready");
  expect([run.balancer.groups().length, run.ecs.services().length]).toEqual([1, 1]);
  run.balancer.settings.deletionsInUse = 2;
  const crash = { image: run.image("exits:7") };
  await run.rollOut(run.template("app", "acme", crash), await run.expectedOf("app"));
  expect([run.balancer.groups().length, run.ecs.services().length]).toEqual([1, 1]);
  run.balancer.settings.deletionsInUse = 2;
  (await run.platform.remove(nameOf("app"), await run.expectedOf("app")))._unsafeUnwrap();
  expect([run.balancer.groups(), run.ecs.services()]).toEqual([[], []]);
});

test("one that counts as named for ever is an outage of a removal, which the same command completes", async () => {
  await deploy();
  const expected = await run.expectedOf("app");
  run.balancer.settings.deletionsInUse = Number.POSITIVE_INFINITY;
  expect((await run.platform.remove(nameOf("app"), expected))._unsafeUnwrapErr().kind).toBe("unavailable");
  run.balancer.settings.deletionsInUse = 0;
  (await run.platform.remove(nameOf("app"), expected))._unsafeUnwrap();
  expect([run.balancer.groups(), run.ecs.services()]).toEqual([[], []]);
});

test("a rule that shows late is made once", async () => {
  run.balancer.settings.looksUntilVisible = 3;
  expect((await deploy())?.kind).toBe("ready");
  expect(run.balancer.rules()).toHaveLength(1);
});
