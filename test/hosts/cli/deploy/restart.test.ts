/** `portside restart` and `portside env` against the real HTTP API over the memory provider. */
import { expect, test } from "vitest";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { serveMemory } from "../../../support/http/api.ts";

const start = async () => {
  const api = await serveMemory();
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key() };
  const run = (...args: string[]) => portside(args, { env });
  using folder = folderWith({
    "package.json": "{}",
    "portside.json": JSON.stringify({ name: "my-app", volumes: {}, env: { COLOUR: "red" } }),
  });
  expect(await run("deploy", folder.path)).toMatchObject({ code: 0 });
  return { api, run };
};

test("a restart follows the records to the URL", async () => {
  const { api, run } = await start();
  await using _api = api;
  const { code, stdout } = await run("restart", "my_app");
  expect(code).toBe(0);
  expect(stdout).toContain("Restarting 'my-app'");
  expect(stdout.trim().split("\n").at(-1)).toBe("https://my-app.memory.invalid");
  expect((await run("releases", "my-app", "-n", "1")).stdout).toMatch(/^2\tserving\t.*\tRestart\n$/);
  expect(await run("restart", "nothing")).toMatchObject({ code: 1 });
  expect(await run("restart")).toMatchObject({ code: 2 });
});

test("variables are set, removed and listed by name, without their values", async () => {
  const { api, run } = await start();
  await using _api = api;
  const set = await run("env", "set", "my-app", "TOKEN=s3cret=1", "EMPTY=");
  expect(set).toMatchObject({ code: 0, stdout: expect.stringContaining("Changing the variables of 'my-app'") });
  const listed = async () => (await run("env", "list", "my-app")).stdout.trim().split("\n");
  const rows = (await listed()).map((row) => row.split("\t"));
  expect(rows.map(([name]) => name)).toEqual(["COLOUR", "EMPTY", "TOKEN"]);
  for (const [, digest] of rows) expect(digest?.length).toBeGreaterThan(16);
  expect(await run("env", "unset", "my-app", "TOKEN", "EMPTY")).toMatchObject({ code: 0 });
  expect(await listed()).toEqual([expect.stringMatching(/^COLOUR\t/)]);
  expect(`${set.stdout}${rows}`).not.toContain("s3cret");
});

test("explains wrong arguments and changes", async () => {
  const { api, run } = await start();
  await using _api = api;
  expect(await run("env", "unset", "my-app", "COLOR")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("the variable 'COLOR' is not set"),
  });
  expect(await run("env", "set", "my-app", "PORT=1")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("is set by the platform"),
  });
  const usages = [
    ["set", "my-app"],
    ["set", "my-app", "COLOUR"],
    ["unset", "my-app"],
    ["list", "my-app", "A"],
    ["add", "x"],
  ];
  for (const words of usages) expect(await run("env", ...words)).toMatchObject({ code: 2 });
});
