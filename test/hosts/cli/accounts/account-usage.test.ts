/** `portside account usage`, against the real HTTP API. */
import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { accountLimits } from "../../../../core/domain/accounts/limits.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { serveMemory, type TestApi } from "../../../support/http/api.ts";

let api: TestApi;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  api = await serveMemory();
  const fields = { function_name: "my-app", volumes: '{"/data":"data"}', max_instances: "3" };
  await api.deploy(fields, nodeSource(helloServer()));
  env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key() };
});
afterAll(() => api[Symbol.asyncDispose]());

test("prints a table on a terminal, and tab-separated lines in a pipe", async () => {
  const { stdout } = await portside(["account", "usage"], { env, columns: 80 });
  expect(stripVTControlCharacters(stdout)).toMatch(/^QUOTA\s+USED\s+LIMIT\s*\n/);
  expect(stripVTControlCharacters(stdout)).toMatch(/^deployments +1 +50/m);
  const piped = await portside(["account", "usage"], { env });
  expect([piped.code, piped.stderr]).toEqual([0, ""]);
  const lines = piped.stdout.trimEnd().split("\n");
  expect(lines).toHaveLength(Object.keys(accountLimits).length);
  expect(lines.slice(0, 4)).toEqual(["deployments\t1\t50", "instances\t3\t200", "volumes\t1\t100", "domains\t0\t50"]);
});

test("prints the response with --json, which counts the request itself", async () => {
  const usage = JSON.parse((await portside(["account", "usage", "--json"], { env })).stdout);
  expect(usage).toMatchObject({ deployments: { limit: 50, used: 1 }, requests_per_minute: { limit: 3000 } });
  expect(usage.requests_per_minute.used).toBeGreaterThan(0);
});

test.each([
  [["account"], "Missing subcommand. Usage: portside account usage"],
  [["account", "x"], "Unknown subcommand 'account x'. Use 'account usage'."],
])("%j is a usage error", async (args, message) => {
  const { code, stderr } = await portside(args, { env });
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});
