/** `portside deploy` against the real HTTP API over the memory provider. */

import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { serveMemory, type TestApi } from "../../../support/http/api.ts";

const project = (more: Readonly<Record<string, unknown>> = {}): Record<string, string> => ({
  "package.json": "{}",
  "portside.json": JSON.stringify({ name: "my-app", volumes: {}, ...more }),
});

const envOf = async (api: TestApi): Promise<NodeJS.ProcessEnv> => ({
  PORTSIDE_URL: api.url,
  PORTSIDE_API_KEY: await api.key(),
});

const listed = async (api: TestApi) => (await api.call("GET", "/v1/deployment/list")).json;

describe("a folder with portside.json", () => {
  test("is deployed, and the URL is the last line", async () => {
    await using api = await serveMemory();
    using folder = folderWith(project({ memory: "512Mi", env: { A: "1" } }));
    const { code, stdout } = await portside(["deploy", folder.path], { env: await envOf(api) });
    expect(code).toBe(0);
    expect(stdout).toContain("DONE");
    expect(stdout.trim().split("\n").at(-1)).toBe("https://my-app.memory.invalid");
    expect(await listed(api)).toMatchObject([{ name: "my-app", memory: "512Mi", env: ["A"] }]);
  });

  test("may be the current folder, without an argument; flags override the file", async () => {
    await using api = await serveMemory();
    using folder = folderWith({
      ...project({ env: { A: "file" } }),
      "more.env": "# a comment\nexport B='two words'\nA=from-env-file\n",
    });
    const args = ["deploy", "--name", "other", "--env", "C=3", "-e", "D=", "--env-file", "more.env"];
    expect(await portside(args, { env: await envOf(api), cwd: folder.path })).toMatchObject({ code: 0 });
    expect(await listed(api)).toMatchObject([{ name: "other", env: ["A", "B", "C", "D"] }]);
    const { serving } = [...api.memory.snapshot().services.values()][0] ?? {};
    expect(Object.fromEntries(serving?.document.spec.env ?? [])).toEqual({
      A: "from-env-file",
      B: "two words",
      C: "3",
      D: "",
    });
  });

  test("keeps the idle mode until another deploy changes it", async () => {
    await using api = await serveMemory();
    using folder = folderWith(project());
    const env = await envOf(api);
    const deploy = (...args: string[]) => portside(["deploy", folder.path, ...args], { env });
    for (const [args, idle] of [
      [[], null],
      [["--idle", "stop"], "stop"],
      [[], "stop"],
      [["--idle", "default"], null],
    ] as const) {
      expect(await deploy(...args)).toMatchObject({ code: 0 });
      expect(await listed(api)).toMatchObject([{ name: "my-app", idle }]);
    }
    expect(await deploy("--idle", "sleep")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Unknown value of --idle: 'sleep'. Choose freeze, stop, default."),
    });
  });

  test("sets the path of the health check, keeps its other values, and removes it", async () => {
    await using api = await serveMemory();
    using folder = folderWith(project({ health: { path: "/", interval: 60, failures: 1 } }));
    const env = await envOf(api);
    const check = { path: "/", interval: 60, timeout: 5, failures: 1 };
    for (const [args, health] of [
      [[], check],
      [["--health", "/healthz"], { ...check, path: "/healthz" }],
      [["--health", "none"], null],
    ] as const) {
      expect(await portside(["deploy", folder.path, ...args], { env })).toMatchObject({ code: 0 });
      expect(await listed(api)).toMatchObject([{ name: "my-app", health }]);
    }
    expect(await portside(["deploy", folder.path, "--health", "healthz"], { env })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("health.path"),
    });
  });

  test("a folder without portside.json sets only the idle mode", async () => {
    await using api = await serveMemory();
    using folder = folderWith({ "package.json": "{}" });
    const env = await envOf(api);
    for (const idle of ["stop", "freeze"]) {
      const args = ["deploy", folder.path, "--name", "my-app", "--idle", idle];
      expect(await portside(args, { env })).toMatchObject({ code: 0 });
      expect(await listed(api)).toMatchObject([{ idle }]);
    }
  });

  test("shows its plan with --plan, without deploying", async () => {
    await using api = await serveMemory();
    using folder = folderWith(project({ memory: "8Gi" }));
    const env = await envOf(api);
    const { code, stdout } = await portside(["deploy", folder.path, "--plan"], { env });
    expect(code).toBe(0);
    expect(stdout).toContain("Create 'my-app'");
    expect(stdout).toContain("CPU raised from 1 to 2: 8Gi of memory needs it");
    expect(JSON.parse((await portside(["deploy", folder.path, "--plan", "--json"], { env })).stdout)).toMatchObject({
      action: "create",
    });
    expect(await listed(api)).toEqual([]);
  });

  test("prints the unchanged stream with --json", async () => {
    await using api = await serveMemory();
    using folder = folderWith(project());
    const { stdout } = await portside(["deploy", folder.path, "--json"], { env: await envOf(api) });
    const records = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { status: string; seq: number });
    expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index + 1));
    expect(records.at(-1)).toMatchObject({ status: "DONE" });
  });
});

test("suggests the next step if the server restarts during the build and loses the deploy", async () => {
  const record = { status: "BUILDING", message: "npm ci", time: "2026-01-01T00:00:00+00:00", deploy_id: "d1", seq: 1 };
  const server = createServer((req, res) => {
    if (req.method === "POST") {
      req.resume().on("end", () => {
        res.writeHead(200, { "content-type": "application/x-ndjson" });
        res.write(`${JSON.stringify(record)}\n`, () => res.destroy());
      });
    } else if (req.url?.startsWith("/v1/deploy/d1") === true) res.writeHead(404).end('{"detail":"no such deploy"}');
    else res.writeHead(200, { "content-type": "application/json" }).end("[]");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  using folder = folderWith(project());
  const env = { PORTSIDE_URL: `http://127.0.0.1:${port}`, PORTSIDE_API_KEY: "psk_x" };
  const { code, stderr } = await portside(["deploy", folder.path], { env });
  server.close();
  expect(code).toBe(1);
  expect(stderr).toBe(
    "error: Lost the connection during the build. Run 'portside deploys my-app' to see how it ended.\n",
  );
});

describe("a folder without portside.json", () => {
  test("is deployed under its folder name without volumes, with a message", async () => {
    await using api = await serveMemory();
    using folder = folderWith({ "my_service/package.json": "{}" });
    const { code, stderr } = await portside(["deploy", `${folder.path}/my_service`], { env: await envOf(api) });
    expect(code).toBe(0);
    expect(stderr).toContain("Deploying as 'my-service' without volumes.");
    expect(await listed(api)).toMatchObject([{ name: "my-service", volumes: {} }]);
  });

  const declared = {
    memory: "2Gi",
    timeout: 60,
    session_affinity: true,
    volumes: { "/data": "notes" },
    schedule: { cron: "0 9 * * *" },
    env: { TOKEN: "1" },
  };

  test.each([[[]], [["--plan"]], [["--plan", "--json"]], [["--env", "TOKEN=2"]]])(
    "does not reset the declared values of a deployment, with %j",
    async (flags) => {
      await using api = await serveMemory();
      using right = folderWith(project(declared));
      using wrong = folderWith({ "package.json": "{}" });
      const env = await envOf(api);
      expect(await portside(["deploy", right.path], { env })).toMatchObject({ code: 0 });
      const before = await listed(api);
      const { code, stdout, stderr } = await portside(["deploy", wrong.path, "--name", "my-app", ...flags], { env });
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      for (const words of ["memory: 2Gi → 1Gi", "timeout: 60 → 600", "session_affinity:", "volumes:", "schedule:"])
        expect(stderr).toContain(words);
      expect(stderr).not.toContain("env:");
      expect(await listed(api)).toEqual(before);
      // The file that the message proposes keeps everything.
      const proposed = stderr.split("\n").findLast((line) => line.startsWith("  {"));
      wrong.write({ "portside.json": proposed ?? "" });
      expect((await portside(["deploy", wrong.path, "--plan"], { env })).stdout.trim().split("\n")).toEqual(
        expect.not.arrayContaining([expect.stringContaining("Replace")]),
      );
    },
  );

  test("never drops a variable of a deployment", async () => {
    await using api = await serveMemory();
    using folder = folderWith({ "package.json": "{}" });
    const env = await envOf(api);
    const deploy = ["deploy", folder.path, "--name", "my-app"];
    expect(await portside([...deploy, "-e", "A=1", "-e", "B=1"], { env })).toMatchObject({ code: 0 });
    const { code, stderr } = await portside([...deploy, "-e", "B=2", "-e", "C=2"], { env });
    expect(code).toBe(1);
    expect(stderr).toContain("env: without A\n");
    expect(stderr).toContain("Set every variable");
    expect(await portside([...deploy, "-e", "A=2", "-e", "B=2", "-e", "C=2"], { env })).toMatchObject({ code: 0 });
    expect(await portside(deploy, { env })).toMatchObject({ code: 0 });
    expect(await listed(api)).toMatchObject([{ env: ["A", "B", "C"] }]);
  });
});

describe("a missing folder", () => {
  test.each(["deploy", "run"])("is an error of %s with its path, and is not created", async (command) => {
    using folder = folderWith({ "file.txt": "", "app/portside.json": '{"name":"app","volumes":{},"source":"dist"}' });
    const ran = (...args: string[]) =>
      portside([command, ...args], { cwd: folder.path, env: { PORTSIDE_API_KEY: "x" } });
    const missing = await ran("nosuch");
    expect(missing).toMatchObject({ code: 2, stderr: `error: The folder '${folder.path}/nosuch' does not exist.\n` });
    expect(existsSync(`${folder.path}/nosuch`)).toBe(false);
    expect((await ran("file.txt")).stderr).toBe(
      `error: '${folder.path}/file.txt' is a file, not a folder. Pass a folder.\n`,
    );
    expect((await ran("file.txt/inner")).stderr).toContain("a part of its path is a file");
    expect((await ran("app")).stderr).toBe(
      `error: 'source' in ${folder.path}/app/portside.json: The folder '${folder.path}/app/dist' does not exist.\n`,
    );
    expect(existsSync(`${folder.path}/app/.portside`)).toBe(false);
  });

  test("is also an error of --plan", async () => {
    await using api = await serveMemory();
    using folder = folderWith();
    const { code, stderr } = await portside(["deploy", "hello", "--plan"], { cwd: folder.path, env: await envOf(api) });
    expect(code).toBe(2);
    expect(stderr).toMatch(/The folder '.*' does not exist\./);
  });
});

describe("an error", () => {
  test("in portside.json is reported with all others, before sending", async () => {
    using folder = folderWith({
      "portside.json": JSON.stringify({
        name: "Bad_Name",
        port: 0,
        memmory: "1Gi",
        volumes: { "/etc": "x" },
        schedule: { cron: "* * * *" },
      }),
    });
    const { code, stderr } = await portside(["deploy", folder.path], { env: { PORTSIDE_API_KEY: "psk_x" } });
    expect(code).toBe(1);
    for (const words of ["name:", "port:", "did you mean 'memory'?", "volumes./etc:", "schedule.cron:"])
      expect(stderr).toContain(words);
  });

  test("in the JSON of portside.json is reported, including repeated keys", async () => {
    using folder = folderWith({ "portside.json": '{"name": "a", "name": "b"}' });
    expect((await portside(["deploy", folder.path], { env: { PORTSIDE_API_KEY: "x" } })).stderr).toContain(
      'repeats the key "name"',
    );
  });

  test("in the request is reported by field, with the platform's message", async () => {
    await using api = await serveMemory();
    using folder = folderWith(project({ memory: "64Gi" }));
    const { code, stderr } = await portside(["deploy", folder.path], { env: await envOf(api) });
    expect(code).toBe(1);
    expect(stderr).toContain("memory: must be at most 32Gi on this provider");
  });

  test("in the source is reported before sending", async () => {
    using folder = folderWith({ "portside.json": JSON.stringify({ name: "empty", volumes: {} }) });
    const { code, stderr } = await portside(["deploy", folder.path], {
      env: { PORTSIDE_API_KEY: "x", PORTSIDE_URL: "http://127.0.0.1:1" },
    });
    expect(code).toBe(1);
    expect(stderr).toContain("has no files to deploy");
  });

  test("is reported if another account has the name", async () => {
    await using api = await serveMemory();
    using folder = folderWith(project());
    await portside(["deploy", folder.path], { env: await envOf(api) });
    const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key("other") };
    const { code, stderr } = await portside(["deploy", folder.path], { env });
    expect(code).toBe(1);
    expect(stderr).toContain("belongs to another account");
  });
});
