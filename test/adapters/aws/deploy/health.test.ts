/** Health checks, minimums of instances and fractions of a CPU on ECS. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { awsCapabilities } from "../../../../adapters/aws/capabilities.ts";
import { fargateSizes } from "../../../../adapters/aws/deploy/fargate-sizes.ts";
import { failureOfChecks } from "../../../../adapters/aws/deploy/rollout/target-health.ts";
import { fitHealth, type HealthCheck, healthLimits } from "../../../../core/domain/deploy/health.ts";
import type { ServiceTemplate } from "../../../../core/domain/deploy/service-template.ts";
import { awsConfig } from "../../../fakes/aws/test-config.ts";
import { type FakeEcsPlatform, openFakeEcs } from "../../../support/providers/ecs-platform.ts";

let run: FakeEcsPlatform;
beforeEach(async () => {
  run = await openFakeEcs();
});
afterEach(() => run.close());

const check: HealthCheck = { path: "/healthz?deep=1", interval: 12, timeout: 7, failures: 4 };

/** Fails within seconds, so that the load balancer has reported a status long before the deadline. */
const quick: HealthCheck = { ...check, interval: 5, timeout: 2, failures: 2 };
const listenDeadlineMs = 600_000;

const declaring = (more: Partial<ServiceTemplate>) => run.template("app", "acme", more);
const redeploy = async (more: Partial<ServiceTemplate>) =>
  run.endOf(declaring(more), await run.expectedOf("app"), { listenDeadlineMs });
const groupOf = () => run.balancer.groups()[0];

const declaredSettings = {
  HealthCheckPath: "/healthz?deep=1",
  HealthCheckIntervalSeconds: "12",
  HealthCheckTimeoutSeconds: "7",
  UnhealthyThresholdCount: "4",
  Matcher: { HttpCode: "200-399" },
};
const defaultSettings = {
  HealthCheckPath: "/",
  HealthCheckIntervalSeconds: "5",
  HealthCheckTimeoutSeconds: "4",
  UnhealthyThresholdCount: "6",
  Matcher: { HttpCode: "200-499" },
};

describe("a health check", () => {
  test("configures the target group, and a deploy without it restores the default check", async () => {
    expect(await run.endOf(declaring({ health: check }), "absent")).toMatchObject({ kind: "ready" });
    expect(groupOf()).toMatchObject(declaredSettings);
    expect(await redeploy({})).toMatchObject({ kind: "ready" });
    expect(groupOf()).toMatchObject(defaultSettings);
  });

  test("replaces settings that were changed manually, which other deploys keep", async () => {
    await run.endOf(declaring({}), "absent");
    const manual = { HealthCheckPath: "/manual", HealthCheckIntervalSeconds: "30", HealthyThresholdCount: "9" };
    run.balancer.act.ModifyTargetGroup({ TargetGroupArn: groupOf()?.TargetGroupArn, ...manual });
    await redeploy({});
    expect(groupOf()).toMatchObject({ ...defaultSettings, ...manual });
    await redeploy({ health: check });
    expect(groupOf()).toMatchObject({ ...declaredSettings, HealthyThresholdCount: "9" });
  });

  test("fails the rollout with the status of an error response, and the previous revision keeps serving", async () => {
    await run.endOf(declaring({}), "absent");
    const before = run.routed("app");
    const end = await redeploy({ image: run.image("sick:503"), health: quick });
    expect(end).toMatchObject({
      kind: "failed",
      failure: {
        reason: "unhealthy",
        message: expect.stringMatching(
          /^The health check GET \/healthz\?deep=1 on port 8080 did not pass in time. The load balancer reports: Health checks failed with these codes: \[503\]/,
        ),
      },
    });
    expect(run.routed("app")).toBe(before);
    expect(run.balancer.groups()).toHaveLength(1);
  });

  test("accepts a redirect but no status of 400 or above", async () => {
    const end = await run.endOf(declaring({ image: run.image("sick:302"), health: check }), "absent");
    expect(end).toMatchObject({ kind: "ready" });
    expect(await redeploy({ image: run.image("sick:404"), health: quick })).toMatchObject({
      failure: { reason: "unhealthy", message: expect.stringContaining("[404]") },
    });
    // Without a declared check, a 404 shows that the service listens.
    expect(await redeploy({ image: run.image("sick:404") })).toMatchObject({ kind: "ready" });
  });

  test("is optional: without one, a service that responds with 500 at '/' did not listen", async () => {
    const end = await run.endOf(declaring({ image: run.image("sick:500") }), "absent");
    expect(end).toMatchObject({ failure: { reason: "did_not_listen", message: expect.stringContaining("500") } });
  });

  test("of every declaration is valid on AWS after the adjustments of the plan", async () => {
    const { interval, timeout, failures } = healthLimits;
    const capabilities = awsCapabilities(awsConfig);
    for (const [index, edge] of (["min", "max", "default"] as const).entries()) {
      const wanted = { path: "/", interval: interval[edge], timeout: timeout[edge], failures: failures[edge] };
      const health = fitHealth({ ...wanted, timeout: Math.min(wanted.timeout, wanted.interval) }, capabilities);
      const template = run.template(`edge-${index}`, "acme", { health });
      expect(await run.endOf(template, "absent")).toMatchObject({ kind: "ready" });
    }
    const equal = fitHealth({ path: "/", interval: 10, timeout: 10, failures: 3 }, capabilities);
    expect(equal).toMatchObject({ interval: 11, timeout: 10 });
  });
});

describe("the reason of an unhealthy revision", () => {
  const template = { port: 8080, health: check };
  const unhealthy = { State: "unhealthy" as const, Reason: "Target.Timeout" as const };
  const event = {
    message:
      "(service app-1) (task 1) (port 8080) is unhealthy in (target-group arn:x) due to (reason Health checks failed with these codes: [502]).",
  };
  const messageOf = (...args: Parameters<typeof failureOfChecks> extends [unknown, ...infer R] ? R : never) =>
    failureOfChecks(template, ...args).message;

  test("is the description and the code of an unhealthy target", () => {
    const targets = [{ TargetHealth: { State: "initial" as const } }, { TargetHealth: { ...unhealthy } }];
    expect(messageOf(targets, { events: [event] })).toContain("reports: Target.Timeout.");
    const described = { TargetHealth: { ...unhealthy, Description: "Request timed out" } };
    expect(messageOf([described], {})).toContain("reports: Request timed out (Target.Timeout).");
  });

  test("is from the service's newest event after ECS has deregistered the target", () => {
    const draining = {
      TargetHealth: { State: "draining" as const, Reason: "Target.DeregistrationInProgress" as const },
    };
    const older = { message: event.message.replace("502", "500") };
    expect(
      messageOf([draining], { events: [{ message: "(service app-1) has started 1 tasks" }, event, older] }),
    ).toContain("reports: Health checks failed with these codes: [502].");
    expect(messageOf([], {})).toContain("reports: no response yet.");
  });
});

describe("a minimum of instances", () => {
  const capacities = () =>
    [...run.scaling.targets.values()].map(({ MinCapacity, MaxCapacity }) => [MinCapacity, MaxCapacity]);
  const desired = () => run.ecs.services().map(({ desiredCount }) => desiredCount);

  test("is the initial number of tasks, and the lower bound of scaling", async () => {
    await run.endOf(declaring({ minInstances: 3, maxInstances: 5 }), "absent");
    expect(desired()).toEqual([3]);
    expect(capacities()).toEqual([[3, 5]]);
  });

  test("is one task without a declaration, and a redeploy keeps the number of tasks that the load requires", async () => {
    await run.endOf(declaring({ maxInstances: 0 }), "absent");
    expect(desired()).toEqual([1]);
    expect(capacities()).toEqual([[1, 10]]);
    run.ecs.scale(run.routed("app") ?? "", 4);
    await redeploy({ minInstances: 2, maxInstances: 0 });
    expect(desired()).toEqual([4]);
    expect(capacities()).toEqual([[2, 10]]);
  });
});

test("every size with less than one CPU is a task size that Fargate offers", async () => {
  const sizes = fargateSizes
    .filter(({ cpu }) => cpu < 1)
    .flatMap(({ cpu, memory: { min, max, step } }) =>
      Array.from({ length: (max - min) / step + 1 }, (_, index) => ({ cpu, memory: min + index * step })),
    );
  for (const [index, size] of sizes.entries())
    expect(await run.endOf(run.template(`size-${index}`, "acme", size), "absent")).toMatchObject({ kind: "ready" });
  expect(run.ecs.definitions().map(({ cpu, memory }) => [cpu, memory])).toEqual([
    ["256", "512"],
    ["256", "1024"],
    ["256", "2048"],
    ["512", "1024"],
    ["512", "2048"],
    ["512", "3072"],
    ["512", "4096"],
  ]);
});
