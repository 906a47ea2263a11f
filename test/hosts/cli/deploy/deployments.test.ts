/** `list`, `remove`, `logs`, `keys`, `token` and `login` against the real HTTP API. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { runProgram } from "../../../../hosts/cli/program.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside, terminal } from "../../../support/cli/terminal.ts";
import { serveMemory, type TestApi } from "../../../support/http/api.ts";

const envOf = async (api: TestApi): Promise<NodeJS.ProcessEnv> => ({
  PORTSIDE_URL: api.url,
  PORTSIDE_API_KEY: await api.key(),
});

const withOne = async () => {
  const api = await serveMemory();
  await api.deploy({ function_name: "my-app", volumes: "{}" }, nodeSource(helloServer()));
  return { api, env: await envOf(api) };
};

describe("list", () => {
  test("prints a line per deployment in a pipe, a table on a terminal, and JSON with --json", async () => {
    const { api, env } = await withOne();
    await using _ = api;
    expect((await portside(["list"], { env })).stdout).toMatch(
      /^my-app\tREADY\thttps:\/\/my-app\.memory\.invalid\tmy-app-00001\t1 × 1Gi\t\d+ s\n$/,
    );
    const table = (await portside(["ls"], { env, columns: 120 })).stdout;
    expect(table).toContain("NAME");
    expect(table).toContain("my-app");
    expect(JSON.parse((await portside(["list", "--json"], { env })).stdout)).toMatchObject([
      { name: "my-app", status: "READY" },
    ]);
  });

  test("suggests the next step if there are no deployments", async () => {
    await using api = await serveMemory();
    const { code, stdout, stderr } = await portside(["list"], { env: await envOf(api) });
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(stderr).toContain("portside init");
  });
});

describe("remove", () => {
  test("requires -y without a terminal", async () => {
    const { api, env } = await withOne();
    await using _ = api;
    expect(await portside(["remove", "my-app"], { env })).toMatchObject({ code: 2, stdout: "" });
    expect((await api.call("GET", "/v1/deployment/list")).json).toHaveLength(1);
    expect(await portside(["rm", "my-app", "-y"], { env })).toMatchObject({ code: 0 });
    expect((await api.call("GET", "/v1/deployment/list")).json).toEqual([]);
  });

  test("of a missing deployment fails with a message", async () => {
    await using api = await serveMemory();
    const { code, stderr } = await portside(["remove", "nothing", "-y"], { env: await envOf(api) });
    expect(code).toBe(1);
    expect(stderr).toContain("The deployment 'nothing' does not exist");
  });
});

describe("logs", () => {
  test("shows the newest entries as text, and as NDJSON with --json", async () => {
    const { api, env } = await withOne();
    await using _ = api;
    const { stdout } = await portside(["logs", "my-app"], { env });
    expect(stdout).toMatch(
      /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z INFO {6}platform A deploy began deploy_id=\w{20} status=BUILDING\n/,
    );
    const json = (await portside(["logs", "my-app", "-n", "1", "--json"], { env })).stdout.trim().split("\n");
    expect(json).toHaveLength(1);
    expect(JSON.parse(json[0] as string)).toMatchObject({ severity: "INFO" });
  });
});

describe("keys and tokens", () => {
  test("creates, lists, uses and revokes a key", async () => {
    await using api = await serveMemory();
    const env = await envOf(api);
    const made = JSON.parse((await portside(["keys", "create", "--label", "for tests", "--json"], { env })).stdout) as {
      id: string;
      key: string;
    };
    const own = { ...env, PORTSIDE_API_KEY: made.key };
    const { stdout } = await portside(["keys", "list"], { env: own });
    expect(stdout).toContain("for tests");
    expect(stdout).not.toContain(made.key);
    expect(await portside(["keys", "revoke", made.id], { env })).toMatchObject({ code: 0 });
    expect(await portside(["list"], { env: own })).toMatchObject({ code: 1 });
  });

  test("prints a token that works, and nothing else", async () => {
    await using api = await serveMemory();
    const token = (await portside(["token"], { env: await envOf(api) })).stdout.trim();
    const answer = await api.call("GET", "/v1/deployment/list", {
      key: null,
      headers: { authorization: `Bearer ${token}` },
    });
    expect(answer.status).toBe(200);
  });
});

test("answering no cancels the removal without an error message", async () => {
  const { api, env } = await withOne();
  await using _ = api;
  const { code, stderr } = await portside(["remove", "my-app"], { env, typed: "n\n" });
  expect(code).toBe(1);
  expect(stderr).toMatch(/\[y\/N\] Cancelled\.\n$/);
  expect((await portside(["list"], { env })).stdout).toContain("my-app");
});

test("Ctrl-C at a confirmation ends the command", async () => {
  const { api, env } = await withOne();
  await using _ = api;
  const interrupted = new AbortController();
  const stdin = Object.assign(new PassThrough(), { isTTY: true }) as unknown as NodeJS.ReadStream;
  const { io } = terminal({ env, signal: interrupted.signal, onError: () => interrupted.abort() });
  expect(await runProgram(["remove", "my-app"], { ...io, stdin })).toBe(130);
  expect((await portside(["list"], { env })).stdout).toContain("my-app");
});

describe("login", () => {
  test("checks the key and saves it for this user only, and later commands use it", async () => {
    const { api, env } = await withOne();
    await using _ = api;
    using home = folderWith();
    const alone = { HOME: home.path };
    const wrong = await portside(["login", "--url", api.url], { env: alone, stdin: "psk_wrong\n" });
    expect(wrong).toMatchObject({
      code: 1,
      stderr: `error: The key is not valid for ${api.url}. Check the key and the URL, and run 'portside login' again.\n`,
    });
    const right = await portside(["login", "--url", api.url], { env: alone, stdin: `${env["PORTSIDE_API_KEY"]}\n` });
    expect(right).toMatchObject({ code: 0 });
    const path = join(home.path, ".config", "portside", "config.json");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ url: api.url });
    expect((await portside(["list"], { env: alone })).stdout).toContain("my-app");
  });
});
