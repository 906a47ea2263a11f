/** Rollouts wait for AWS's eventual consistency, and repair manual changes. */
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

test("waits until ECS sees that a target group has a load balancer", async () => {
  run.ecs.settings.triesUntilAssociated = 15;
  expect((await deploy())?.kind).toBe("ready");
});

test("logs a service that ECS rejects, and leaves none of its resources", async () => {
  run.ecs.settings.triesUntilAssociated = Number.POSITIVE_INFINITY;
  expect(await deploy()).toMatchObject({ kind: "failed", failure: { reason: "internal" } });
  expect(run.logged.some((line) => line.includes("rejected a service"))).toBe(true);
  expect([run.balancer.groups(), run.balancer.rules(), run.ecs.definitions()]).toEqual([[], [], []]);
});

test("retries if the tasks of a service cannot be listed yet", async () => {
  const call = awsCalls({ clock: run.clock, ids: randomIds, logger: silentLogger }, ecsFault);
  const services = ecsServices(CLUSTER, run.clients, call);
  await deploy();
  const revision = run.routed("app") ?? "";
  run.ecs.settings.listsUntilTasks = 1;
  expect((await services.stopped(revision))._unsafeUnwrap()).toEqual([]);
});

test("deletes definitions with their variables, even before they appear as inactive", async () => {
  await deploy();
  run.ecs.settings.listsUntilInactive = Number.POSITIVE_INFINITY;
  (await run.platform.remove(nameOf("app"), await run.expectedOf("app")))._unsafeUnwrap();
  expect(run.ecs.definitions()).toEqual([]);
});

test("restores a rule that was changed by hand to a fixed response", async () => {
  await deploy();
  const [rule] = run.balancer.rules();
  run.balancer.act.ModifyRule({ RuleArn: rule?.RuleArn, Actions: [{ Type: "fixed-response" }] });
  const next = await run.rollOut(run.template("app"), await run.expectedOf("app"));
  const end = next.at(-1);
  expect(end?.kind).toBe("ready");
  expect(run.routed("app")).toBe(end?.kind === "ready" ? end.revision : "");
});

test("retries deleting a target group that still counts as referenced after its rule is deleted", async () => {
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

test("fails a removal if the target group counts as referenced forever; the next removal completes it", async () => {
  await deploy();
  const expected = await run.expectedOf("app");
  run.balancer.settings.deletionsInUse = Number.POSITIVE_INFINITY;
  expect((await run.platform.remove(nameOf("app"), expected))._unsafeUnwrapErr().kind).toBe("unavailable");
  run.balancer.settings.deletionsInUse = 0;
  (await run.platform.remove(nameOf("app"), expected))._unsafeUnwrap();
  expect([run.balancer.groups(), run.ecs.services()]).toEqual([[], []]);
});

test("creates a rule once although it appears late", async () => {
  run.balancer.settings.looksUntilVisible = 3;
  expect((await deploy())?.kind).toBe("ready");
  expect(run.balancer.rules()).toHaveLength(1);
});
