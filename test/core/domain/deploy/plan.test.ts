/** Plans by example. Clients see the values and the messages of these tests. */
import { describe, expect, test } from "vitest";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { declareDeploy } from "../../../../core/domain/deploy/declaration.ts";
import { sumOfMinimums } from "../../../../core/domain/deploy/instances.ts";
import { type DeployPlan, describePlan, planDeploy, resetsOf } from "../../../../core/domain/deploy/plan.ts";
import type { Service } from "../../../../core/domain/deploy/service-template.ts";
import type { Capabilities } from "../../../../core/domain/wire/capabilities.ts";
import { missing } from "../../../../core/domain/wire/capabilities.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { cloudRunLikeCatalogue } from "../../../arbitraries/index.ts";
import { serviceOf, templateOf, volumeNamed } from "../../../support/logs/services.ts";
import { capabilitiesWith, fullCapabilities, minimalCapabilities } from "../../../support/providers/capabilities.ts";

const acme = "acme" as AccountId;

interface PlanOptions {
  readonly current?: Service | null;
  readonly capabilities?: Capabilities;
  readonly volumes?: readonly string[];
}

const plan = (fields: Readonly<Record<string, unknown>>, options: PlanOptions = {}): DeployPlan => {
  const { current = null, capabilities = fullCapabilities, volumes = [] } = options;
  const context = { capabilities: fullCapabilities, archive: { issues: [] } };
  const declaration = declareDeploy({ function_name: "app", volumes: {}, ...fields }, context)._unsafeUnwrap();
  return planDeploy(acme, declaration, current, capabilities, volumes.map(volumeNamed));
};

const running = (fields: Readonly<Record<string, unknown>>): Service => serviceOf(templateOf(plan(fields).spec));

test("a first deploy creates the service, and expects an unused name", () => {
  expect(plan({})).toMatchObject({
    action: "create",
    expected: "absent",
    changes: [],
    adjustments: [],
    schedule: "none",
  });
  expect(describePlan(plan({}))).toEqual(["Create 'app'"]);
});

test("a later deploy updates the state that it saw", () => {
  expect(plan({}, { current: running({}) })).toMatchObject({
    action: "update",
    expected: { etag: "m1", owner: "acme" },
    changes: [],
  });
  expect(describePlan(plan({}, { current: running({}) }))).toEqual(["Update 'app'"]);
});

test("replaces only what differs, in the terms of the wire", () => {
  const current = running({ port: 3000, memory: "2G", session_affinity: true });
  const next = plan({ memory: "3Gi", timeout: 60 }, { current });
  expect(next.changes).toEqual([
    { field: "port", from: 3000, to: 8080 },
    { field: "memory", from: "2G", to: "3Gi" },
    { field: "timeout", from: 600, to: 60 },
    { field: "session_affinity", from: true, to: false },
  ]);
  expect(describePlan(next)).toContain("Replace memory: 2G → 3Gi");
});

test("only a removed variable makes a changed environment a reset", () => {
  const resets = (from: Readonly<Record<string, string>>, to: Readonly<Record<string, string>>) =>
    resetsOf(plan({ env: to }, { current: running({ port: 3000, env: from }) }).changes).map(({ field }) => field);
  expect(resets({ A: "1" }, { A: "2", B: "1" })).toEqual(["port"]);
  expect(resets({ A: "1", B: "1" }, { A: "1" })).toEqual(["port", "env"]);
});

test("announces an adjustment and deploys the adjusted value", () => {
  const raised = plan({ cpu: 3, memory: "1Gi" });
  expect(raised.spec).toMatchObject({ cpu: 4, memory: 2 * 1024 ** 3 });
  expect(describePlan(raised)).toEqual([
    "Create 'app'",
    "CPU raised from 3 to 4: this provider does not offer 3 CPUs",
    "Memory raised from 1Gi to 2Gi: the minimum with 4 CPUs is 2Gi",
  ]);
});

test("lowers the concurrency to the maximum of the size, and announces it", () => {
  const small = plan({ cpu: 0.5 }, { capabilities: capabilitiesWith(cloudRunLikeCatalogue) });
  expect(small.spec).toMatchObject({ cpu: 0.5, concurrency: 1 });
  expect(describePlan(small)).toEqual(["Create 'app'", "Concurrency lowered from 80 to 1: the maximum with 0.5 CPU"]);
});

test("moves a kept or declared health check into the provider's ranges, and announces it", () => {
  const ranges = { interval: { min: 5, max: 200 }, timeout: { min: 2, max: 120 }, failures: { min: 2, max: 10 } };
  const capabilities: Capabilities = { ...fullCapabilities, health: { supported: true, ranges } };
  const health = { path: "/", interval: 1, timeout: 1, failures: 1 };
  const messages = [
    "Health check: interval raised from 1 s to 5 s, the minimum of this provider",
    "Health check: timeout raised from 1 s to 2 s, the minimum of this provider",
    "Health check: failures raised from 1 to 2, the minimum of this provider",
  ];
  const declared = plan({ health }, { capabilities });
  expect(declared.spec.health).toEqual({ path: "/", interval: 5, timeout: 2, failures: 2 });
  expect(declared.adjustments.map(({ message }) => message)).toEqual(messages);
  const kept = plan({}, { capabilities, current: running({ health }) });
  expect(kept.spec.health).toEqual(declared.spec.health);
  expect(kept.adjustments.map(({ message }) => message)).toEqual(messages);
  const long = plan({ health: { ...health, interval: 240, timeout: 2, failures: 3 } }, { capabilities });
  expect(long.adjustments).toEqual([
    {
      field: "health",
      from: "interval 240 s",
      to: "interval 200 s",
      message: "Health check: interval lowered from 240 s to 200 s, the maximum of this provider",
    },
  ]);
});

test("raises the interval of a health check above its timeout if the provider requires that", () => {
  const range = { min: 2, max: 240 };
  const ranges = { interval: range, timeout: range, failures: range, interval_margin: 1 };
  const capabilities: Capabilities = { ...fullCapabilities, health: { supported: true, ranges } };
  const equal = plan({ health: { path: "/", interval: 9, timeout: 9 } }, { capabilities });
  expect(equal.spec.health).toMatchObject({ interval: 10, timeout: 9 });
  expect(equal.adjustments.map(({ message }) => message)).toEqual([
    "Health check: interval raised from 9 s to 10 s, because it must exceed the timeout on this provider",
  ]);
  expect(plan({ health: { path: "/", interval: 9, timeout: 8 } }, { capabilities }).adjustments).toEqual([]);
});

test("leaves a size unchanged if the provider cannot fit it", () => {
  const larger = plan({ cpu: 4, memory: "16Gi" }, { capabilities: { ...fullCapabilities, resources: [] } });
  expect(larger.spec).toMatchObject({ cpu: 4, memory: 16 * 1024 ** 3 });
  expect(larger.adjustments).toEqual([]);
});

describe("volumes", () => {
  const mounted = { volumes: { "/a": "one", "/b": "two", "/c": "one" } };

  test("creates each missing volume once", () => {
    expect(plan(mounted).volumesToCreate).toEqual(["one", "two"]);
    expect(plan(mounted, { volumes: ["two", "other"] }).volumesToCreate).toEqual(["one"]);
    expect(describePlan(plan(mounted))).toEqual(["Create 'app'", "Create volume 'one'", "Create volume 'two'"]);
  });

  test("detaches volumes that the new declaration does not mount, and never deletes them", () => {
    const next = plan({ volumes: { "/a": "two" } }, { current: running(mounted), volumes: ["one", "two"] });
    expect(next.volumesDetached).toEqual(["one"]);
    expect(describePlan(next)).toContain("Detach volume 'one'; its data is kept");
  });
});

describe("the schedule is part of the declaration", () => {
  const daily = { schedule: "0 9 * * *", timezone: "Europe/Paris" };

  test("sets a declared schedule", () => {
    expect(plan(daily).schedule).toBe("put");
    expect(describePlan(plan(daily))).toContain("Scheduled: 0 9 * * * (Europe/Paris)");
  });

  test("removes an existing schedule if the declaration omits it", () => {
    expect(plan({}, { current: running(daily) }).schedule).toBe("remove");
    expect(describePlan(plan({}, { current: running(daily) }))).toContain("Schedule removed");
    expect(plan({}, { current: running({}) }).schedule).toBe("none");
  });
});

describe("min_instances", () => {
  const current = running({ min_instances: 3 });

  test("stays the same if the declaration omits it, and 0 clears it", () => {
    expect(plan({}, { current })).toMatchObject({ spec: { minInstances: 3 }, changes: [] });
    expect(plan({}).spec).not.toHaveProperty("minInstances");
    const cleared = plan({ min_instances: 0 }, { current });
    expect(cleared.spec).not.toHaveProperty("minInstances");
    expect(cleared.changes).toEqual([{ field: "min_instances", from: 3, to: 0 }]);
    expect(resetsOf(cleared.changes)).toEqual([]);
  });

  test("is lowered to a smaller maximum, and the plan announces it", () => {
    const lowered = plan({ max_instances: 2 }, { current });
    expect(lowered.spec.minInstances).toBe(2);
    expect(describePlan(lowered)).toContain("min_instances lowered from 3 to 2, the maximum number of instances");
    expect(describePlan(lowered)).toContain("Keeps 2 instances running without requests");
  });

  test("the sum of an account's minimums counts each service once, with the new value of the deployed one", () => {
    const services = [running({ min_instances: 3 }), running({ function_name: "other", min_instances: 4 })];
    expect(sumOfMinimums(services, { name: "other" as DeploymentName, minInstances: 1 })).toBe(4);
    expect(sumOfMinimums(services, { name: "new" as DeploymentName })).toBe(7);
  });
});

describe("health", () => {
  const check = { path: "/healthz", interval: 10, timeout: 5, failures: 3 };
  const current = running({ health: check });

  test("stays the same if the declaration omits it", () => {
    expect(plan({}, { current })).toMatchObject({ spec: { health: check }, changes: [] });
    expect(plan({}).spec).not.toHaveProperty("health");
  });

  test("a removal or replacement is intentional, so it is not a reset", () => {
    const cleared = plan({ health: null }, { current });
    expect(cleared.spec).not.toHaveProperty("health");
    expect(cleared.changes).toEqual([{ field: "health", from: check, to: null }]);
    expect(resetsOf(cleared.changes)).toEqual([]);
    expect(plan({ health: { ...check, path: "/" } }, { current }).spec.health?.path).toBe("/");
  });
});

describe("idle", () => {
  const current = running({ idle: "stop" });

  test("absent keeps the current value", () => {
    expect(plan({}, { current })).toMatchObject({ spec: { idle: "stop" }, changes: [] });
    expect(plan({}).spec).not.toHaveProperty("idle");
  });

  test("null selects the platform's default, and a value replaces the current one", () => {
    const cleared = plan({ idle: null }, { current });
    expect(cleared.spec).not.toHaveProperty("idle");
    expect(cleared.changes).toEqual([{ field: "idle", from: "stop", to: null }]);
    expect(plan({ idle: "freeze" }, { current })).toMatchObject({
      spec: { idle: "freeze" },
      changes: [{ field: "idle", from: "stop", to: "freeze" }],
    });
  });

  test("a change is intentional, so it is not a reset", () => {
    expect(resetsOf(plan({ idle: "freeze", port: 1 }, { current }).changes).map(({ field }) => field)).toEqual([
      "port",
    ]);
  });
});

describe("env", () => {
  const current = running({ env: { TOKEN: "s3cret", KEEP: "x" } });

  test("absent keeps the environment", () => {
    const next = plan({}, { current });
    expect(next.spec.env).toEqual({ TOKEN: "s3cret", KEEP: "x" });
    expect(next.changes).toEqual([]);
  });

  test("{} clears it, an object replaces it, and only names are shown", () => {
    expect(plan({ env: {} }, { current }).changes).toEqual([{ field: "env", from: ["KEEP", "TOKEN"], to: [] }]);
    const next = plan({ env: { TOKEN: "0ther", KEEP: "x" } }, { current });
    expect(next.changes).toEqual([{ field: "env", from: ["KEEP", "TOKEN"], to: ["KEEP", "TOKEN"] }]);
    expect(describePlan(next).join()).not.toMatch(/s3cret|0ther/);
  });

  test("a first deploy without env has no variables", () => expect(plan({}).spec.env).toEqual({}));

  test("a service that never served keeps the env of its last attempt", () => {
    expect(plan({}, { current: { ...current, serving: [] } }).spec.env).toHaveProperty("TOKEN");
  });
});

test("announces unenforced features, and affinity and read-only mounts only if declared", () => {
  const notEnforced = (fields: Readonly<Record<string, unknown>>) =>
    plan(fields, { capabilities: minimalCapabilities }).notEnforced;
  expect(notEnforced({})).toEqual([
    "memory is not enforced: no memory limit here",
    "cpu is not enforced: no CPU limit here",
    "concurrency is not enforced: no cap here",
    "timeout is not enforced: no timeout here",
  ]);
  expect(notEnforced({ session_affinity: true })).toContain("session_affinity is not enforced: no affinity here");
  expect(notEnforced({ volumes: { "/a": "one", "/b": { name: "two", read_only: true } } })).toContain(
    "read_only in volumes is not enforced: no read-only mounts here",
  );
  expect(notEnforced({ volumes: { "/a": "one" } }).join()).not.toContain("read_only");
});

test("announces an instance that runs without requests", () => {
  const idle = { ...fullCapabilities, scale_to_zero: missing("one task runs around the clock") };
  expect(describePlan(plan({}, { capabilities: idle })).at(-1)).toBe(
    "Does not scale to zero: one task runs around the clock",
  );
  expect(describePlan(plan({})).join()).not.toContain("scale to zero");
});
