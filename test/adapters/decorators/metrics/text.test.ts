/** Metrics in Prometheus format: on a separate port, under their documented names. */
import { readFileSync } from "node:fs";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { createMetrics } from "../../../../adapters/decorators/metrics/index.ts";
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import { createControlPlane } from "../../../../core/control-plane.ts";
import { createMetricsServer } from "../../../../hosts/http/server/metrics-server.ts";
import { seriesIn } from "../../../support/logs/prometheus-text.ts";

test("the documentation lists exactly the existing metrics", async () => {
  const shown = [...(await createMetrics({ process: false }).text()).matchAll(/^# HELP (\w+) (.*)$/gm)];
  const page = readFileSync("docs/operations/observability.md", "utf8");
  const documented = [...page.matchAll(/^\| `(portside_\w+)` /gm)].map(([, name]) => name);
  expect(documented).toEqual(shown.map(([, name]) => name));
  expect(shown.length).toBeGreaterThan(10);
});

test("an application's registry includes them, and the process metrics only once", async () => {
  const registry = new Registry();
  createMetrics({ registry });
  expect(await registry.metrics()).toContain("# TYPE portside_deploys_total counter");
  expect(await registry.metrics()).not.toContain("process_cpu");
  expect(await createMetrics().text()).toContain("process_cpu_seconds_total");
});

test("two control planes in one process have separate metrics", async () => {
  const [one, other] = [createMetrics({ process: false }), createMetrics({ process: false })];
  for (const metrics of [one, other]) metrics.measure(createControlPlane(createMemoryProvider().ports));
  one.telemetry.logLost(3);
  one.telemetry.requestServed(204, 0.5);
  expect(seriesIn(await one.text())).toMatchObject({
    portside_log_entries_lost_total: 3,
    'portside_service_request_seconds_count{status="2xx"}': 1,
    'portside_service_request_seconds_sum{status="2xx"}': 0.5,
  });
  expect(seriesIn(await other.text())).toMatchObject({ portside_log_entries_lost_total: 0 });
});

test("sums the queues of providers while they report them", async () => {
  const metrics = createMetrics({ process: false });
  const load = {
    instances: { starting: 1, busy: 2, idle: 3, frozen: 7, rolling: 4 },
    requestsWaiting: 5,
    logEntriesWaiting: 6,
  };
  const stop = metrics.telemetry.watchLoad(() => load);
  metrics.telemetry.watchLoad(() => load);
  expect(seriesIn(await metrics.text())).toMatchObject({
    'portside_instances{state="starting"}': 2,
    'portside_instances{state="rolling"}': 8,
    portside_service_requests_waiting: 10,
    portside_log_entries_waiting: 12,
  });
  stop();
  expect(seriesIn(await metrics.text())).toMatchObject({ 'portside_instances{state="idle"}': 3 });
});

test("a request to an unknown path creates no series", async () => {
  const metrics = createMetrics({ process: false });
  for (const method of ["GET", "BREW"]) metrics.apiServed({ method, route: undefined, status: 404, seconds: 0.001 });
  metrics.apiServed({ method: "GET", route: "/v1/deployment/list", status: 200, seconds: 0.002 });
  expect(seriesIn(await metrics.text())).toMatchObject({
    'portside_api_request_seconds_count{method="any",route="none",status="404"}': 2,
    'portside_api_request_seconds_count{method="GET",route="/v1/deployment/list",status="200"}': 1,
  });
});

test("the metrics port serves nothing else", async () => {
  await using app = createMetricsServer(createMetrics({ process: false }));
  const found = await app.inject("/metrics");
  expect(found.headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(found.body).toContain("# HELP portside_deploys_total ");
  expect((await app.inject("/v1/capabilities")).statusCode).toBe(404);
  const posted = await app.inject({ method: "POST", url: "/metrics" });
  expect([posted.statusCode, posted.headers["allow"]]).toEqual([405, "GET, HEAD"]);
});
