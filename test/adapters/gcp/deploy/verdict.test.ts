/** A revision is ready once its service has settled and its own condition says so. */
import { expect, test } from "vitest";
import type { RunService } from "../../../../adapters/gcp/deploy/render.ts";
import type { RunServices } from "../../../../adapters/gcp/deploy/services.ts";
import { type VerdictDeps, verdictOn } from "../../../../adapters/gcp/deploy/verdict.ts";
import { ok } from "../../../../core/result.ts";
import { templateFor } from "../../../contracts/support.ts";
import { createLeapingClock } from "../../../support/clocks/leaping-clock.ts";
import { accountOf, nameOf } from "../../../support/http/brands.ts";

type Conditions = NonNullable<RunService["conditions"]>;

const settled: RunService = {
  reconciling: false,
  generation: "2",
  observedGeneration: "2",
  terminalCondition: { type: "Ready", state: "CONDITION_SUCCEEDED" },
};
const failed: RunService = {
  ...settled,
  terminalCondition: { type: "Ready", state: "CONDITION_FAILED", reason: "REVISION_FAILED" },
};
const ready: Conditions = [{ type: "Ready", state: "CONDITION_SUCCEEDED" }];
const missing: Conditions = [{ type: "Ready", state: "CONDITION_FAILED", reason: "CONTAINER_MISSING" }];

const judge = (run: RunService, conditions: Conditions, lines: string[] = []) => {
  const services = { conditions: async () => ok(conditions) } as unknown as RunServices;
  const lastLines: VerdictDeps["lastLines"] = async () => lines.map((text) => ({ system: true, text }));
  const deps = { services, clock: createLeapingClock(), lastLines, settleMillis: 10_000 };
  return verdictOn(deps, templateFor(accountOf("acme"), nameOf("app"), "image"), "app-1", run, {});
};

test.each<[string, RunService, Conditions]>([
  ["Run is reconciling the service", { ...settled, reconciling: true }, ready],
  ["the revision has no result", settled, [{ type: "Ready", state: "CONDITION_RECONCILING" }]],
  ["the revision does not exist", settled, []],
])("returns no verdict while %s", async (_, run, conditions) => {
  expect(await judge(run, conditions)).toBeUndefined();
});

test("a failed service counts as settled, although its observed generation is not current", async () => {
  expect(await judge({ ...failed, observedGeneration: "1" }, missing)).toMatchObject({ reason: "image_not_found" });
});

test("returns ready if the service and the revision are ready", async () =>
  expect(await judge(settled, ready)).toBe("ready"));

test("a failed revision is not ready whatever its service reports, and vice versa", async () => {
  expect(await judge(settled, missing)).toMatchObject({ reason: "image_not_found" });
  expect(await judge(failed, missing)).toMatchObject({ reason: "image_not_found" });
  expect(await judge(failed, ready)).toMatchObject({ reason: "internal" });
});

test("waits once for a container's last log lines", async () => {
  const sick: Conditions = [
    { type: "Ready", state: "CONDITION_FAILED", revisionReason: "HEALTH_CHECK_CONTAINER_ERROR" },
  ];
  let looks = 0;
  const services = { conditions: async () => ok(sick) } as unknown as RunServices;
  const lastLines: VerdictDeps["lastLines"] = async () =>
    ++looks === 1 ? [] : [{ system: true, text: "Container called exit(3)." }];
  const deps = { services, clock: createLeapingClock(), lastLines, settleMillis: 10_000 };
  const template = templateFor(accountOf("acme"), nameOf("app"), "image");
  expect(await verdictOn(deps, template, "app-1", failed, {})).toMatchObject({ reason: "crashed", exitCode: 3 });
  expect(await judge(failed, sick)).toMatchObject({ reason: "did_not_listen" });
});
