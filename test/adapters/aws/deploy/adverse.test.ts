/** Rollouts succeed with each adverse behaviour of the fakes, and with all of them together. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import { oneMount } from "../../../clouds/rollouts/steps.ts";
import {
  type AdverseBehavior,
  type AdverseBehaviors,
  adverseBehaviors,
  allAdverse,
  noneAdverse,
  ROLE_LATE_MS,
} from "../../../fakes/aws/adverse.ts";
import { type FakeEcsPlatform, openFakeEcs } from "../../../support/providers/ecs-platform.ts";

/** The tests of logs and of secrets cover these. */
const elsewhere: readonly AdverseBehavior[] = ["log_read_quota", "secret_role_late"];
const ofRollouts = (Object.keys(adverseBehaviors) as AdverseBehavior[]).filter((name) => !elsewhere.includes(name));
const each = ofRollouts.map((name): [string, AdverseBehaviors] => [name, new Set([name])]);

describe.each<[string, AdverseBehaviors]>([
  ["no adverse behaviour", noneAdverse],
  ...each,
  ["every adverse behaviour", allAdverse],
])("with %s", (_, adverse) => {
  let run: FakeEcsPlatform;
  beforeEach(async () => {
    run = await openFakeEcs({ adverse });
  });
  afterEach(() => run.close());

  test("the first deploy of an account and redeploys with session affinity serve", async () => {
    const begun = millisOf(run.clock.now());
    const sticky = (timeout: number) => run.template("app", "acme", { sessionAffinity: true, timeout });
    expect(await run.endOf(sticky(30), "absent")).toMatchObject({ kind: "ready" });
    const waited = millisOf(run.clock.now()) - begun;
    expect(waited).toBeLessThan(4 * ROLE_LATE_MS);
    for (const timeout of [31, 32]) {
      const end = await run.endOf(sticky(timeout), await run.expectedOf("app"));
      expect(end).toMatchObject({ kind: "ready" });
      expect(run.routed("app")).toBe(end?.kind === "ready" && end.revision);
    }
    expect(run.ecs.services()).toHaveLength(1);
    expect(run.balancer.groups()).toHaveLength(1);
  });

  test("a service with a volume on a new file system serves", async () => {
    const events = await run.rollOut(run.template("app", "acme", { mounts: oneMount }), "absent");
    expect(events.at(-1)).toMatchObject({ kind: "ready" });
    expect(events.some((event) => event.kind === "progress" && event.message.includes("mount"))).toBe(
      adverse.has("file_policy_late"),
    );
  });

  test("an HTTP/1.1 service responds", async () => {
    await run.rollOut(run.template("app"), "absent");
    expect((await fetch((await run.serviceOf("app")).url)).status).toBe(200);
  });

  test("a redeploy asks at most ten times whether the previous revision has drained", async () => {
    await run.rollOut(run.template("app", "acme", { timeout: 3600 }), "absent");
    run.balancer.faults.clear();
    await run.rollOut(run.template("app", "acme", { timeout: 3599 }), await run.expectedOf("app"));
    expect(run.balancer.faults.count("DescribeTargetHealth")).toBeLessThanOrEqual(10);
  });
});

test("a role that is not new, and may not be passed, fails the deploy without a wait", async () => {
  const run = await openFakeEcs({ adverse: new Set(["role_late"]) });
  const by = run.replica({ identities: { ...run.needs.identities, isNew: () => false } });
  const begun = millisOf(run.clock.now());
  const end = (await run.rollOut(run.template("app"), "absent", { by })).at(-1);
  expect(end).toMatchObject({ kind: "failed", failure: { reason: "permission" } });
  expect(millisOf(run.clock.now()) - begun).toBeLessThan(ROLE_LATE_MS);
  await run.close();
});

test("a mount that S3 Files keeps refusing fails the deploy after 8 minutes, and leaves nothing", async () => {
  const run = await openFakeEcs({ canMount: () => false });
  const begun = millisOf(run.clock.now());
  const end = await run.endOf(run.template("app", "acme", { mounts: oneMount }), "absent");
  expect(end).toMatchObject({
    kind: "failed",
    failure: { reason: "permission", message: expect.stringContaining("rejected the mount") },
  });
  expect(millisOf(run.clock.now()) - begun).toBeGreaterThanOrEqual(8 * 60_000);
  expect(run.ecs.services()).toHaveLength(0);
  await run.close();
});

test("a service that exits fails the deploy without a wait for its volume", async () => {
  const run = await openFakeEcs({ adverse: new Set(["file_policy_late"]) });
  const begun = millisOf(run.clock.now());
  const template = { ...run.template("app", "acme", { mounts: oneMount }), image: run.image("exits:3") };
  expect(await run.endOf(template, "absent")).toMatchObject({ kind: "failed", failure: { exitCode: 3 } });
  expect(millisOf(run.clock.now()) - begun).toBeLessThan(5 * 60_000);
  await run.close();
});

test("an HTTP/1.1 request to an HTTP/2 service gets 464", async () => {
  const run = await openFakeEcs({ adverse: new Set(["http1_refused"]) });
  await run.rollOut(run.template("app", "acme", { useHttp2: true }), "absent");
  expect((await fetch((await run.serviceOf("app")).url)).status).toBe(464);
  await run.close();
});
