/** Metrics of deployments: series, gaps, steps and capabilities. */
import { expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { MetricSeries } from "../../../../core/domain/usage/metrics.ts";
import { metricsWith, missing, offered } from "../../../../core/domain/wire/capabilities.ts";
import type { MetricStore } from "../../../../core/ports/metric-store.ts";
import { ResultAsync } from "../../../../core/result.ts";
import {
  deployed,
  type MemoryOptions,
  type MemoryPlatform,
  startMemory,
} from "../../../support/providers/memory-platform.ts";

const owner = "acme" as AccountId;

const start = async (options: MemoryOptions = {}): Promise<MemoryPlatform> => {
  const platform = startMemory({ clock: createManualClock("2026-03-01T12:00:30Z"), ...options });
  await deployed(platform);
  return platform;
};

const metrics = async ({ controlPlane, principal }: MemoryPlatform, request: Record<string, unknown> = {}) =>
  (await controlPlane.getMetrics(principal(), request))._unsafeUnwrap();

const failure = async ({ controlPlane, principal }: MemoryPlatform, request: Record<string, unknown>) => {
  const error = (await controlPlane.getMetrics(principal(), request))._unsafeUnwrapErr();
  return error.kind === "invalid_input" ? error.issues.map(({ path, message }) => `${path}: ${message}`) : error.kind;
};

const pointsOf = (series: readonly MetricSeries[], name = "app") =>
  Object.fromEntries(series.filter((one) => one.name === name).map(({ metric, points }) => [metric, points]));

test("returns every series with its unit, one value for each step, and null for gaps", async () => {
  const platform = await start();
  const { memory, clock } = platform;
  memory.measure(owner, "app", {
    requests: [
      { status: 200, millis: 1 },
      { status: 200, millis: 100 },
      { status: 404, millis: 1 },
      { status: 503, millis: 1 },
    ],
    instances: [
      { millis: 60_000, memoryBytes: 1_048_576, cpuMillis: 30_000 },
      { millis: 30_000, memoryBytes: 1_048_576, cpuMillis: 0 },
    ],
    coldStarts: 2,
  });
  await clock.advance(120_000);
  memory.measure(owner, "app", {});
  const { since, step, series } = await metrics(platform, { since: "2026-03-01T12:00:10Z" });
  expect({ since, step }).toEqual({ since: "2026-03-01T12:00:00+00:00", step: 60 });
  expect(pointsOf(series)).toEqual({
    requests_1xx: [0, null, 0],
    requests_2xx: [2, null, 0],
    requests_3xx: [0, null, 0],
    requests_4xx: [1, null, 0],
    requests_5xx: [1, null, 0],
    latency_p50: [1, null, null],
    latency_p95: [107.635, null, null],
    latency_p99: [107.635, null, null],
    instances: [1.5, null, 0],
    cpu: [0.5, null, 0],
    memory: [1_572_864, null, 0],
    cold_starts: [2, null, 0],
  });
  const units = new Map(series.map(({ metric, unit }) => [metric, unit]));
  expect([...units.values()]).toEqual([
    ...Array.from({ length: 5 }, () => "requests"),
    ...["ms", "ms", "ms", "instances", "vCPU", "bytes", "starts"],
  ]);
});

test("returns the named deployments, or all of the account", async () => {
  const platform = await start();
  await deployed(platform, { function_name: "bot" });
  const names = async (request: Record<string, unknown>) => [
    ...new Set((await metrics(platform, request)).series.map(({ name }) => name)),
  ];
  expect(await names({})).toEqual(["app", "bot"]);
  expect(await names({ names: "bot" })).toEqual(["bot"]);
  expect(await names({ names: "bot, app,bot" })).toEqual(["bot", "app"]);
  expect(await failure(platform, { names: "app,missing" })).toBe("not_found");
});

test("defaults to the last hour, and to a step with at most 120 points", async () => {
  const platform = await start();
  const stepOf = async (request: Record<string, unknown>) => {
    const { step, series } = await metrics(platform, request);
    return [step, series[0]?.points.length];
  };
  expect(await stepOf({})).toEqual([60, 61]);
  expect(await stepOf({ since: "2026-02-28T12:00:00Z" })).toEqual([900, 97]);
  expect(await stepOf({ since: "2026-02-22T12:00:00Z" })).toEqual([21_600, 29]);
  expect(await stepOf({ since: "2026-02-28T12:00:00Z", step: "60" })).toEqual([60, 1441]);
});

test("reports all issues of the period and the step", async () => {
  const platform = await start();
  expect(await failure(platform, { since: "soon", step: 61 })).toEqual([
    expect.stringContaining("since: must be an RFC 3339"),
    "step: must be a multiple of 60 seconds, up to 86400",
  ]);
  expect(await failure(platform, { since: "2026-03-02T00:00:00Z" })).toEqual(["since: must be in the past"]);
  expect(await failure(platform, { since: "2026-02-01T00:00:00Z" })).toEqual([
    "since: must be at most 7 days ago, because older metrics are deleted",
  ]);
  expect(await failure(platform, { since: "2026-02-25T00:00:00Z", step: 60 })).toEqual([
    "step: must be at least 300 for this period",
  ]);
});

test("reads metrics for one request of an account at a time, independently of other accounts", async () => {
  const gate = Promise.withResolvers<void>();
  const platform = await start({
    around: ({ metrics: store }) => ({
      metrics: {
        read: (...args) =>
          ResultAsync.fromSafePromise(gate.promise).andThen(() => (store as MetricStore).read(...args)),
      },
    }),
  });
  const { controlPlane, principal } = platform;
  const first = controlPlane.getMetrics(principal(), {});
  const second = failure(platform, {});
  expect((await controlPlane.getMetrics(principal("beta"), {})).isOk()).toBe(true);
  gate.resolve();
  expect([(await first).isOk(), await second]).toEqual([true, "rate_limited"]);
  expect((await controlPlane.getMetrics(principal(), {})).isOk()).toBe(true);
});

test("omits the series that the provider does not support, and fails if it supports none", async () => {
  const some = { ...metricsWith(missing("no metrics"), 7), latency: offered() };
  const { series } = await metrics(await start({ capabilities: { metrics: some } }));
  expect(series.map(({ metric }) => metric)).toEqual(["latency_p50", "latency_p95", "latency_p99"]);
  const { controlPlane, principal } = startMemory({ capabilities: { metrics: metricsWith(missing("no metrics"), 0) } });
  expect((await controlPlane.getMetrics(principal(), {}))._unsafeUnwrapErr()).toMatchObject({
    kind: "unsupported",
    message: expect.stringContaining("no metrics"),
  });
});
