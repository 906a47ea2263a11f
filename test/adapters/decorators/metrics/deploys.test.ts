/** Metrics of deploys: how they end, how long their phases take, how many run. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { delayed, faulty } from "../../../../adapters/decorators/faulty.ts";
import { createMetrics } from "../../../../adapters/decorators/metrics/index.ts";
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import type { Provider } from "../../../../core/ports/provider.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import { seriesIn } from "../../../support/logs/prometheus-text.ts";
import { deployed, ended, type MemoryPlatform, startMemory } from "../../../support/providers/memory-platform.ts";
import { runs } from "../../../support/vitest/runs.ts";

type Around = (provider: Provider, clock: MemoryPlatform["clock"]) => Partial<Provider>;

const startMeasured = (around: Around = () => ({})) => {
  const metrics = createMetrics({ process: false });
  const platform = startMemory({ around, watch: { controlPlane: metrics.measure } });
  return { platform, figures: async () => seriesIn(await metrics.text()) };
};

test("measures the phases of a successful deploy in seconds of the platform's clock", async () => {
  const { platform, figures } = startMeasured(({ builder, services }, clock) => ({
    builder: delayed(builder, clock, ({ method }) => (method === "build" ? 1000 : 0)),
    services: delayed(services, clock, ({ method }) => (method === "rollout" ? 3000 : 0)),
  }));
  const records = await deployed(platform);
  const at = (status: string, which: "find" | "findLast" = "find") =>
    Date.parse(records[which]((record) => record.status === status)?.time ?? "") / 1000;
  expect(await figures()).toMatchObject({
    'portside_deploys_total{status="DONE",reason=""}': 1,
    'portside_deploy_phase_seconds_count{phase="building",status="ok"}': 1,
    'portside_deploy_phase_seconds_sum{phase="building",status="ok"}': expect.closeTo(
      at("DEPLOYING") - at("BUILDING"),
      2,
    ),
    'portside_deploy_phase_seconds_count{phase="deploying",status="ok"}': 1,
    'portside_deploy_phase_seconds_sum{phase="deploying",status="ok"}': expect.closeTo(at("DONE") - at("DEPLOYING"), 2),
    'portside_deploys_running{phase="building"}': 0,
    'portside_deploys_running{phase="deploying"}': 0,
  });
  expect(at("DEPLOYING") - at("BUILDING")).toBeGreaterThan(0.9);
});

test("a failed deploy counts under its reason, in the phase that failed", async () => {
  const failure: DeployFailure = { reason: "build_failed", message: "no" };
  const { platform, figures } = startMeasured(({ builder }) => ({ builder: faulty(builder, () => ({ failure })) }));
  await ended(platform);
  const now = await figures();
  expect(now).toMatchObject({
    'portside_deploys_total{status="ERROR",reason="build_failed"}': 1,
    'portside_deploy_phase_seconds_count{phase="building",status="failed"}': 1,
    'portside_deploys_running{phase="building"}': 0,
  });
  expect(Object.keys(now).join()).not.toContain('phase="deploying",status');
});

test("a rejected deploy does not count", async () => {
  const { platform, figures } = startMeasured();
  expect((await platform.submit({ port: 0 })).isErr()).toBe(true);
  const now = await figures();
  expect(now['portside_deploys_refused_total{kind="invalid_input"}']).toBe(1);
  expect(Object.keys(now).join()).not.toContain("portside_deploys_total{");
});

test("a running deploy counts in its phase", async () => {
  const seen: Record<string, number>[] = [];
  const { platform, figures } = startMeasured(({ builder, services }) => ({
    builder: {
      build: async function* (request, options) {
        seen.push(await figures());
        yield* builder.build(request, options);
      },
    },
    services: faulty(services, () => undefined),
    volumes: undefined as never,
  }));
  await deployed(platform);
  expect(seen).toMatchObject([{ 'portside_deploys_running{phase="building"}': 1 }]);
});

test("the redeploys of a new secret value count as deploys", async () => {
  const { platform, figures } = startMeasured();
  const { clock, controlPlane, principal } = platform;
  const set = (value: string) => whileTicking(clock, controlPlane.setSecret(principal(), { name: "KEY", value }));
  expect((await set("one")).isOk()).toBe(true);
  await deployed(platform, { env: { KEY: { secret: "KEY" } } });
  expect((await set("two")).isOk()).toBe(true);
  await whileTicking(clock, controlPlane.settle());
  expect(await figures()).toMatchObject({ 'portside_deploys_total{status="DONE",reason=""}': 2 });
});

const outcome = fc.constantFrom("served", "build_failed", "did_not_listen", "refused");

test("every deploy counts once, however it ends, and none stays running", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(outcome, { maxLength: 8 }), async (outcomes) => {
      let next: string | undefined;
      const fail = (method: string, reason: "build_failed" | "did_not_listen") => (call: { method: string }) =>
        call.method === method && next === reason ? { failure: { reason, message: "no" } } : undefined;
      const { platform, figures } = startMeasured(({ builder, services }) => ({
        builder: faulty(builder, fail("build", "build_failed")),
        services: faulty(services, fail("rollout", "did_not_listen")),
      }));
      for (next of outcomes)
        if (next === "refused") expect((await platform.submit({ port: -1 })).isErr()).toBe(true);
        else await ended(platform);
      const now = Object.entries(await figures());
      const sum = (name: string): number =>
        now.filter(([series]) => series.startsWith(`${name}{`)).reduce((total, [, value]) => total + value, 0);
      const refused = outcomes.filter((one) => one === "refused").length;
      expect(sum("portside_deploys_refused_total")).toBe(refused);
      expect(sum("portside_deploys_total")).toBe(outcomes.length - refused);
      expect(sum("portside_deploys_running")).toBe(0);
    }),
    runs(25),
  );
});
