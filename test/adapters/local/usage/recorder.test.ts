/** The recorder of metrics: requests, cold starts and instances between two writes. */
import { expect, test } from "vitest";
import { Recorder } from "../../../../adapters/local/usage/recorder.ts";
import type { RollupRow } from "../../../../adapters/local/usage/rollups.ts";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { NewLogEntry } from "../../../../core/domain/logs/entry.ts";
import { coldStartsOf, latencyQuantile, parseRollup, requestsOf } from "../../../../core/domain/usage/rollup.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { recordingLogger } from "../../../support/logs/silent-logger.ts";

const entry = (service: string, status: number, latency: string, owner = "acme"): NewLogEntry => ({
  owner: owner as AccountId,
  service: service as DeploymentName,
  severity: "INFO",
  logName: "requests",
  http: { requestMethod: "GET", requestUrl: "/", status, latency },
});

const setup = (instances: () => readonly { name: string; cpuMillis: number }[] = () => []) => {
  const written: (readonly RollupRow[])[] = [];
  let canWrite = true;
  const { logger, logged } = recordingLogger();
  const recorder = new Recorder({
    clock: createManualClock("2026-03-01T12:00:30Z"),
    logger,
    instances: () =>
      instances().map(({ name, cpuMillis }) => ({
        owner: "acme",
        name,
        instance: { id: name, use: () => ({ memory: 1_048_576, cpuMillis }) },
      })),
    write: (rows) => {
      if (canWrite) written.push(rows);
      return canWrite;
    },
  });
  return {
    recorder,
    written,
    logged,
    refuse: (refuses: boolean) => {
      canWrite = !refuses;
    },
  };
};

const find = (rows: readonly RollupRow[] | undefined, name: string, owner = "acme") =>
  parseRollup(rows?.find((row) => row.name === name && row.owner === owner)?.rollup ?? "");

test("writes the requests and cold starts of each service once, in the current minute", async () => {
  const { recorder, written } = setup();
  recorder.served(entry("app", 200, "0.1s"));
  recorder.served(entry("app", 500, "0.1s"));
  recorder.served(entry("app", 200, "0.1s", "beta"));
  recorder.served({ ...entry("app", 200, "0s"), logName: "stdout", http: undefined } as never);
  recorder.coldStarted("acme", "bot");
  await recorder.tick();
  expect(written[0]).toHaveLength(3);
  const app = find(written[0], "app");
  expect([requestsOf(app, "2xx"), requestsOf(app, "5xx"), latencyQuantile(app, 1)]).toEqual([
    1,
    1,
    expect.closeTo(107.6, 1),
  ]);
  expect(requestsOf(find(written[0], "app", "beta"), "2xx")).toBe(1);
  expect(coldStartsOf(find(written[0], "bot"))).toBe(1);
  expect(written[0]?.[0]?.minute).toBe(Date.parse("2026-03-01T12:00:00Z") / 1000);
  recorder.served(entry("app", 404, "0.1s"));
  await recorder.close();
  expect(written[1]).toHaveLength(1);
  expect(requestsOf(find(written[1], "app"), "4xx")).toBe(1);
  expect(requestsOf(find(written[1], "app"), "2xx")).toBe(0);
});

test("measures the running instances, and the CPU time since the last measurement", async () => {
  let running = [
    { name: "app", cpuMillis: 5 },
    { name: "bot", cpuMillis: 1 },
  ];
  const { recorder, written } = setup(() => running);
  await recorder.tick();
  running = [{ name: "app", cpuMillis: 12 }];
  await recorder.close();
  const cpuOf = (at: number, name: string) => {
    const rollup = find(written[at], name);
    return rollup[3];
  };
  expect([cpuOf(0, "app"), cpuOf(0, "bot"), cpuOf(1, "app")]).toEqual([5, 1, 7]);
  expect(written[1]?.some(({ name }) => name === "bot")).toBe(false);
});

test("keeps the counters until they can be written", async () => {
  const { recorder, written, refuse } = setup();
  refuse(true);
  recorder.served(entry("app", 200, "0.1s"));
  await recorder.tick();
  recorder.served(entry("app", 200, "0.1s"));
  refuse(false);
  await recorder.close();
  expect(written).toHaveLength(1);
  expect(requestsOf(find(written[0], "app"), "2xx")).toBe(2);
});

test("an instance that cannot be measured does not lose the requests", async () => {
  const { recorder, written, logged } = setup(() => {
    throw new Error("no such process");
  });
  recorder.served(entry("app", 200, "0.1s"));
  await recorder.close();
  expect(requestsOf(find(written[0], "app"), "2xx")).toBe(1);
  expect(logged).toEqual([expect.stringContaining("could not measure the running instances")]);
});
