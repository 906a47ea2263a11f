/** `portside metrics`, against the real HTTP API. */
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { sparkline } from "../../../../hosts/cli/terminal/sparkline.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { serveApi, type TestApi } from "../../../support/http/api.ts";

let api: TestApi;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  const memory = createMemoryProvider();
  api = await serveApi(memory.ports);
  await api.deploy({ function_name: "my-app", volumes: "{}" }, nodeSource(helloServer()));
  memory.measure("acme" as AccountId, "my-app", {
    requests: [{ status: 200, millis: 1 }],
    instances: [{ millis: 60_000, memoryBytes: 3_145_728, cpuMillis: 0 }],
  });
  env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key() };
});
afterAll(() => api[Symbol.asyncDispose]());

test("prints a line for each series and step in a pipe", async () => {
  const { code, stdout, stderr } = await portside(["metrics", "my_app", "-s", "10m"], { env });
  expect([code, stderr]).toEqual([0, ""]);
  const lines = stdout.trimEnd().split("\n");
  expect(lines).toContainEqual(
    expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00\+00:00\trequests_2xx\t1\trequests$/),
  );
  expect(lines).toContainEqual(expect.stringMatching(/\tmemory\t3145728\tbytes$/));
  expect(lines.filter((line) => line.includes("\tlatency_p50\t-\tms")).length).toBeGreaterThan(8);
});

test("draws each series on a terminal, without the status classes that have no requests", async () => {
  const { stdout, stderr } = await portside(["metrics", "my-app", "-s", "10m"], { env, columns: 120 });
  const shown = stripVTControlCharacters(stdout);
  expect(shown).toMatch(/^METRIC +UNIT +LAST +MAX/);
  expect(shown).toMatch(/^requests_2xx +requests +\S+ +1 .*█/m);
  expect(shown).toMatch(/^memory +bytes +\S+.* MiB .*█/m);
  expect(shown).not.toContain("requests_5xx");
  expect(stderr).toMatch(/Since .*, in steps of 60 s/);
});

test("prints the response with --json, and passes the step on", async () => {
  const { stdout } = await portside(["metrics", "my-app", "-s", "1d", "--step", "3600", "--json"], { env });
  const { step, series } = JSON.parse(stdout);
  expect(step).toBe(3600);
  expect(series[0]).toMatchObject({ name: "my-app", metric: "requests_1xx", unit: "requests" });
});

test.each([
  [["metrics"], 2, "portside metrics NAME"],
  [["metrics", "my-app", "-s", "soon"], 2, "-s must be an age"],
  [["metrics", "my-app", "--step", "61"], 1, "multiple of 60 seconds"],
  [["metrics", "missing"], 1, "does not exist"],
])("%j fails with a message", async (args, expected, message) => {
  const { code, stderr } = await portside(args, { env });
  expect({ code, stderr }).toEqual({ code: expected, stderr: expect.stringContaining(message) });
});

test("a sparkline has one character for each value or group of values, and spaces for gaps", () => {
  expect(sparkline([0, 1, 4, 8], 60)).toBe("▁▁▄█");
  expect(sparkline([null, 8, null], 60)).toBe(" █ ");
  expect(sparkline([0, 0], 60)).toBe("▁▁");
  expect(sparkline([1, 8, 0, 4], 2)).toBe("█▄");
  expect(sparkline([], 60)).toBe("");
});
