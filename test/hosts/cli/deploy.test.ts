/** `portside deploy` against the real HTTP API over the memory provider. */
import { describe, expect, test } from "vitest";
import { serveMemory, type TestApi } from "../../support/api.ts";
import { folderWith } from "../../support/folders.ts";
import { portside } from "../../support/terminal.ts";

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

  test("is taken from the present folder, and flags go before the file", async () => {
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

  test("shows its plan and does nothing with --plan", async () => {
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

  test("prints the stream as it is with --json", async () => {
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

describe("a folder without portside.json", () => {
  test("is deployed under its own name without storage, and that is said", async () => {
    await using api = await serveMemory();
    using folder = folderWith({ "my_service/package.json": "{}" });
    const { code, stderr } = await portside(["deploy", `${folder.path}/my_service`], { env: await envOf(api) });
    expect(code).toBe(0);
    expect(stderr).toContain("deploying as 'my-service', without storage");
    expect(await listed(api)).toMatchObject([{ name: "my-service", volumes: {} }]);
  });
});

describe("what is wrong", () => {
  test("with portside.json is all said at once, and nothing is sent", async () => {
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

  test("with portside.json as JSON is said, repeated keys included", async () => {
    using folder = folderWith({ "portside.json": '{"name": "a", "name": "b"}' });
    expect((await portside(["deploy", folder.path], { env: { PORTSIDE_API_KEY: "x" } })).stderr).toContain(
      '"name" is given twice',
    );
  });

  test("with the request is said field by field, as the platform says it", async () => {
    await using api = await serveMemory();
    using folder = folderWith(project({ memory: "64Gi" }));
    const { code, stderr } = await portside(["deploy", folder.path], { env: await envOf(api) });
    expect(code).toBe(1);
    expect(stderr).toContain("memory: at most 32Gi on this provider");
  });

  test("with the source is said before anything is sent", async () => {
    using folder = folderWith({ "portside.json": JSON.stringify({ name: "empty", volumes: {} }) });
    const { code, stderr } = await portside(["deploy", folder.path], {
      env: { PORTSIDE_API_KEY: "x", PORTSIDE_URL: "http://127.0.0.1:1" },
    });
    expect(code).toBe(1);
    expect(stderr).toContain("There is nothing to deploy");
  });

  test("with the name: another account has it", async () => {
    await using api = await serveMemory();
    using folder = folderWith(project());
    await portside(["deploy", folder.path], { env: await envOf(api) });
    const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key("other") };
    const { code, stderr } = await portside(["deploy", folder.path], { env });
    expect(code).toBe(1);
    expect(stderr).toContain("belongs to another account");
  });
});
