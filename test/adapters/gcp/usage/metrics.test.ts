/** Metrics on a fake Cloud Monitoring: the contract, the conversion of Cloud Run's metrics, and their limits. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { clientSource } from "../../../../adapters/gcp/clients.ts";
import { createGcpMetrics } from "../../../../adapters/gcp/usage/metrics.ts";
import { createManualClock, type ManualClock } from "../../../../adapters/memory/index.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { Service } from "../../../../core/domain/deploy/service-template.ts";
import { seriesOf } from "../../../../core/domain/usage/metrics.ts";
import { type Rollup, requestsOf, statusClasses } from "../../../../core/domain/usage/rollup.ts";
import { metricsWith, offered } from "../../../../core/domain/wire/capabilities.ts";
import { instantOfSeconds, secondsOf, timestampOf } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import type { MetricScope } from "../../../../core/ports/metric-store.ts";
import type { ServicePlatform } from "../../../../core/ports/service-platform.ts";
import { okAsync } from "../../../../core/result.ts";
import { contractTests, freshNames, metricStoreCases } from "../../../contracts/index.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import { FakeMonitoring, type Sample } from "../../../fakes/gcp/monitoring/server.ts";
import { type RestServer, redirectedAuth } from "../../../fakes/gcp/rest-server.ts";
import { PROJECT, REGION } from "../../../fakes/gcp/test-project.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";

const NOON = "2026-03-01T12:00:00Z";
const owner = "acme" as AccountId;

interface Held {
  readonly owner: AccountId;
  /** In seconds since 1970. */
  readonly created: number;
}

/**
 * @param held the current services by name
 */
const openStore = async (clock: ManualClock, held: Map<string, Held>) => {
  const monitoring = new FakeMonitoring(clock);
  const server = await monitoring.open();
  const clients = clientSource(PROJECT, {
    auth: redirectedAuth(PROJECT, { "https://monitoring.googleapis.com": server.origin }),
  });
  const serviceOf = (name: string, { owner, created }: Held) =>
    ({
      name,
      owner,
      createdAt: timestampOf(instantOfSeconds(created)),
      serving: [],
      attempted: { cpu: 2, memory: 2 ** 30 },
    }) as unknown as Service;
  const services: Pick<ServicePlatform, "list"> = {
    list: (account) =>
      okAsync([...held].filter(([, one]) => one.owner === account).map(([name, one]) => serviceOf(name, one))),
  };
  const deps = { clock, logger: silentLogger, random: () => 0.5 };
  return {
    monitoring,
    server,
    metrics: createGcpMetrics({ project: PROJECT, region: REGION }, clients, deps, services),
  };
};

contractTests("Cloud Monitoring", metricStoreCases, async () => {
  const clock = createManualClock(NOON);
  const start = secondsOf(clock.now());
  const held = new Map<string, Held>();
  const { monitoring, server, metrics } = await openStore(clock, held);
  const names = freshNames("monitoring");
  const known = new Map<string, AccountId>();
  let account: AccountId | undefined;
  const subject = {
    metrics,
    start,
    account: () => {
      account = names.account();
      return account;
    },
    name: () => {
      const name = names.name();
      // Cloud Monitoring always observes an existing service, so the first `add` creates all services.
      if (account !== undefined) known.set(name, account);
      return name;
    },
    add: async (scope: MetricScope, minute: number, rollup: Rollup) => {
      const end = (start + minute + 60) * 1000;
      const created = start + minute - 1;
      for (const [name, one] of known) if (!held.has(name)) held.set(name, { owner: one, created });
      // Another account has deleted its service of this name, so its metrics are older than the current service.
      if (held.get(scope.name)?.owner !== scope.owner)
        monitoring.samples.forEach((sample, at) => {
          if (sample.service === scope.name) monitoring.samples[at] = { ...sample, end: sample.end - 60_000 };
        });
      if (held.get(scope.name)?.owner !== scope.owner) held.set(scope.name, { owner: scope.owner, created });
      const requests = Object.fromEntries(statusClasses.map((one) => [one, requestsOf(rollup, one)]));
      monitoring.samples.push({ service: scope.name, end, requests });
      const late = end / 1000 + 240 - secondsOf(clock.now());
      if (late > 0) await clock.advance(late * 1000);
    },
  };
  return { subject, close: async () => server.close() };
});

let clock: ManualClock;
let held: Map<string, Held>;
let store: Awaited<ReturnType<typeof openStore>>;
let server: RestServer | undefined;
const start = secondsOf(createManualClock(NOON).now());

beforeAll(async () => {
  clock = createManualClock(NOON);
  held = new Map();
  store = await openStore(clock, held);
  server = store.server;
});
afterAll(() => server?.close());

/** Creates a service an hour before noon. */
const create = (name: string, more: Partial<Held> = {}): MetricScope => {
  held.set(name, { owner, created: start - 3600, ...more });
  return { owner, name: name as DeploymentName };
};
const sample = (service: string, minute: number, more: Omit<Sample, "service" | "end">): void => {
  store.monitoring.samples.push({ service, end: (start + 60 * (minute + 1)) * 1000, ...more });
};
const read = async (scope: MetricScope, { step = 60, count = 3, from = start } = {}) => {
  const [steps] = await expectOk(store.metrics.read([scope], { from: instantOfSeconds(from), step, count }));
  const series = seriesOf(scope.name, steps ?? [], metricsWith(offered(), 42));
  return Object.fromEntries(series.map(({ metric, points }) => [metric, points]));
};

test("converts the metrics of Cloud Run", async () => {
  const scope = create("converted");
  await clock.advance(3_600_000);
  sample("converted", 0, {
    requests: { "2xx": 3, "5xx": 1 },
    latencies: [5, 5, 5, 900],
    instances: 2,
    cpu: [0.5, 0.25],
    memory: [0.5, 0.5],
    starts: [800],
  });
  sample("converted", 0, { revision: "other", requests: { "2xx": 2 }, instances: 1 });
  const found = await read(scope);
  expect(found).toMatchObject({
    requests_2xx: [5, 0, 0],
    requests_5xx: [1, 0, 0],
    instances: [3, 0, 0],
    memory: [3 * 0.5 * 2 ** 30, 0, 0],
    cold_starts: [1, 0, 0],
  });
  expect(found["cpu"]?.[0]).toBeCloseTo(3 * 0.375 * 2);
  // 5 ms is in Cloud Monitoring's bucket up to 5.38 ms, and 900 ms in the one up to 1,079 ms.
  expect(found["latency_p50"]?.[0]).toBeGreaterThanOrEqual(5);
  expect(found["latency_p50"]?.[0]).toBeLessThan(5 * 1.4 * 1.19);
  expect(found["latency_p99"]?.[0]).toBeGreaterThanOrEqual(900);
  expect(found["latency_p99"]?.[0]).toBeLessThan(900 * 1.4 * 1.19);
});

test("a later service of the name has no metrics from before its creation", async () => {
  const now = secondsOf(clock.now());
  const scope = create("taken", { created: now - 1800 + 30 });
  const minute = (now - 1800 - start) / 60;
  sample("taken", minute - 1, { requests: { "2xx": 5 } });
  // The minute of the creation may contain requests to both services.
  sample("taken", minute, { requests: { "2xx": 7 } });
  sample("taken", minute + 1, { requests: { "2xx": 1 } });
  expect((await read(scope, { from: now - 1860 }))["requests_2xx"]).toEqual([null, null, 1]);
  expect((await read(scope, { from: now - 3600, step: 3600, count: 1 }))["requests_2xx"]).toEqual([1]);
  const other = { ...scope, owner: "other" as AccountId };
  expect((await read(other, { from: now - 1860 }))["requests_2xx"]).toEqual([null, null, null]);
});

test("a minute is null until Cloud Monitoring shows it", async () => {
  const scope = create("late");
  const from = secondsOf(clock.now());
  sample("late", (from - start) / 60, { requests: { "2xx": 4 } });
  const seen = async () => (await read(scope, { from, count: 1 }))["requests_2xx"];
  await clock.advance(60_000 + 239_000);
  expect(await seen()).toEqual([null]);
  await clock.advance(1000);
  expect(await seen()).toEqual([4]);
});

test("averages cover the observed part of a step", async () => {
  const now = secondsOf(clock.now());
  const scope = create("young", { created: now - 600 - 1 });
  for (let minute = 0; minute < 10; minute++) sample("young", (now - 600 - start) / 60 + minute, { instances: 2 });
  const { instances } = await read(scope, { from: now - 3600, step: 7200, count: 1 });
  expect(instances).toEqual([2]);
});

test("reads ten deployments with one call per metric, and all pages of a call", async () => {
  const now = secondsOf(clock.now());
  const scopes = Array.from({ length: 10 }, (_, index) => create(`many-${index}`));
  for (const [index, { name }] of scopes.entries())
    sample(name, (now - 600 - start) / 60, { requests: { "2xx": index } });
  const window = { from: instantOfSeconds(now - 600), step: 60, count: 1 };
  const counts = async () =>
    (await expectOk(store.metrics.read(scopes, window))).map(([step]) => step && requestsOf(step, "2xx"));
  store.monitoring.faults.clear();
  expect(await counts()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(store.monitoring.faults.log).toHaveLength(6);
  store.monitoring.pageSize = 3;
  store.monitoring.faults.clear();
  await clock.advance(60_000);
  expect(await counts()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(store.monitoring.faults.log.length).toBeGreaterThan(6);
  store.monitoring.pageSize = 100_000;
});

test("reads a service once per minute", async () => {
  const scope = create("cached");
  const window = { from: instantOfSeconds(start), step: 60, count: 1 };
  const { faults } = store.monitoring;
  const reads = async () => {
    const before = faults.log.length;
    await Promise.all([1, 2].map(() => expectOk(store.metrics.read([scope], window))));
    return faults.log.length - before;
  };
  await clock.advance(60_000 - (secondsOf(clock.now()) % 60) * 1000);
  expect(await reads()).toBe(6);
  await clock.advance(59_999);
  expect(await reads()).toBe(0);
  await clock.advance(1);
  expect(await reads()).toBe(6);
});

test("limits the points of a series for long periods", async () => {
  const scope = create("old", { created: start - 90 * 86_400 });
  const from = Math.floor(secondsOf(clock.now()) / 86_400) * 86_400 - 41 * 86_400;
  sample("old", (from + 86_400 - start) / 60, { requests: { "2xx": 6 } });
  expect((await read(scope, { from, step: 86_400, count: 42 }))["requests_2xx"]?.slice(0, 3)).toEqual([0, 6, 0]);
});

test("repeats a call after a passing failure, and fails with `unavailable` if Cloud Monitoring rejects it", async () => {
  const scope = create("failing");
  const { faults } = store.monitoring;
  const window = { from: instantOfSeconds(start), step: 60, count: 1 };
  faults.clear();
  faults.inject({ method: "monitoring.timeSeries.list", nth: 1, kind: "permission_denied" });
  expect((await expectError(store.metrics.read([scope], window))).kind).toBe("unavailable");
  faults.clear();
  faults.inject({ method: "monitoring.timeSeries.list", nth: 2, kind: "unavailable" });
  const found = store.metrics.read([scope], window);
  expect((await whileTicking(clock, expectOk(found), 1000)).length).toBe(1);
  expect(faults.log).toHaveLength(7);
});
