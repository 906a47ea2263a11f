/** Telemetry: current instances and requests, cold starts, and the log. */
import { expect, test } from "vitest";
import { createMetrics } from "../../../adapters/decorators/metrics/index.ts";
import { noTelemetry } from "../../../core/ports/telemetry.ts";
import { nodeSource } from "../../support/archives/archives.ts";
import { callbackCode, startCallbackServer } from "../../support/http/callback-server.ts";
import { send } from "../../support/http/clients.ts";
import { eventsOf } from "../../support/logs/log-entries.ts";
import { seriesIn } from "../../support/logs/prometheus-text.ts";
import { startLocal } from "../../support/providers/local-platform.ts";
import { eventually } from "../../support/vitest/eventually.ts";

/** Blocks requests of `/hold` until the test releases them. */
const server = `
${callbackCode}
import { createServer } from "node:http";
createServer(async (request, response) => {
  if (request.url === "/hold") {
    await report("begun");
    await hold("end");
  }
  response.statusCode = request.url === "/teapot" ? 418 : 200;
  response.end("ok");
}).listen(process.env.PORT);
`;

const start = async (options: Parameters<typeof startLocal>[0] = {}) => {
  const metrics = createMetrics({ process: false });
  const platform = await startLocal({ runner: "process", ...options }, {}, { telemetry: metrics.telemetry });
  const figures = async () => seriesIn(await metrics.text());
  /** Instances by state: starting, busy, idle, rolling. */
  const instances = async () => {
    const now = await figures();
    return ["starting", "busy", "idle", "rolling"].map((state) => now[`portside_instances{state="${state}"}`]);
  };
  return { platform, figures, instances };
};

test("counts instances by state, and waiting requests", async () => {
  await using callbacks = await startCallbackServer();
  const { platform, figures, instances } = await start();
  await using _platform = platform;
  const source = nodeSource(server);
  const fields = { concurrency: 1, max_instances: 1, env: callbacks.env };
  expect(await instances()).toEqual([0, 0, 0, 0]);
  const url = await platform.up(source, fields);
  expect(await instances()).toEqual([0, 0, 1, 0]);
  const first = send(url, { path: "/hold" });
  await callbacks.reported("begun");
  const second = send(url, { path: "/hold" });
  await eventually(async () => expect((await figures())["portside_service_requests_waiting"]).toBe(1));
  expect(await instances()).toEqual([0, 1, 0, 0]);
  // The next revision serves the waiting request. The other one still runs in the previous revision.
  await platform.up(source, { ...fields, concurrency: 2 });
  await callbacks.reported("begun", 2);
  expect(await instances()).toEqual([0, 1, 0, 1]);
  expect((await figures())["portside_service_requests_waiting"]).toBe(0);
  callbacks.release("end");
  await Promise.all([first, second]);
  await eventually(async () => expect(await instances()).toEqual([0, 0, 1, 0]));
});

test("counts a start for waiting requests as a cold start, but not a start by a rollout", async () => {
  const { platform, figures, instances } = await start({ idle: "stop", idleSeconds: 0.2 });
  await using _platform = platform;
  const url = await platform.up(nodeSource(server));
  expect(await figures()).toMatchObject({ portside_cold_start_seconds_count: 0 });
  await eventually(async () => expect(await instances()).toEqual([0, 0, 0, 0]));
  await send(url);
  const [started] = await eventsOf(platform, "started");
  expect(await figures()).toMatchObject({
    portside_cold_start_seconds_count: 1,
    portside_cold_start_seconds_sum: Number(started?.["cold_start_ms"]) / 1000,
  });
});

test("counts requests to services by status class", async () => {
  const { platform, figures } = await start();
  await using _platform = platform;
  const url = await platform.up(nodeSource(server));
  for (const path of ["/", "/", "/teapot"]) await send(url, { path });
  await eventually(async () =>
    expect(await figures()).toMatchObject({
      'portside_service_request_seconds_count{status="2xx"}': 2,
      'portside_service_request_seconds_count{status="4xx"}': 1,
    }),
  );
});

test("counts stored log entries, and measures their lag", async () => {
  const { platform, figures } = await start();
  await using _platform = platform;
  await platform.up(nodeSource(server));
  await eventually(async () => {
    const now = await figures();
    expect(now["portside_log_entries_waiting"]).toBe(0);
    expect(now["portside_log_entries_stored_total"]).toBeGreaterThan(0);
    expect(now["portside_log_lag_seconds_count"]).toBeGreaterThan(0);
    expect(now["portside_log_lag_seconds_sum"]).toBeGreaterThan(0);
  });
});

test("reports nothing after the platform is closed", async () => {
  const asked = new Set<() => unknown>();
  const watchLoad = (read: () => unknown) => {
    asked.add(read);
    return () => void asked.delete(read);
  };
  const platform = await startLocal({ runner: "process" }, {}, { telemetry: { ...noTelemetry, watchLoad } });
  expect(asked.size).toBe(1);
  await platform[Symbol.asyncDispose]();
  expect(asked.size).toBe(0);
});
