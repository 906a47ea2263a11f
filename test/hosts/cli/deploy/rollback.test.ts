/** `portside releases`, `diff` and `rollback` against the real HTTP API over the memory provider. */
import { expect, test } from "vitest";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { serveMemory } from "../../../support/http/api.ts";

const start = async () => {
  const api = await serveMemory();
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key() };
  return { api, run: (...args: string[]) => portside(args, { env }) };
};

const project = (more: object): Record<string, string> => ({
  "package.json": "{}",
  "portside.json": JSON.stringify({ name: "my-app", volumes: {}, ...more }),
});

test("deploys with messages are listed, compared and rolled back", async () => {
  const { api, run } = await start();
  await using _api = api;
  using first = folderWith(project({ env: { COLOUR: "s3cret" } }));
  using second = folderWith(project({ memory: "2Gi", env: { SIZE: "5" } }));
  expect(await run("deploy", first.path, "--message", "The first one")).toMatchObject({ code: 0 });
  expect(await run("deploy", second.path, "-m", "More memory")).toMatchObject({ code: 0 });

  const diff = await run("diff", "my-app");
  expect(diff.stdout.split("\n")).toEqual(
    expect.arrayContaining(["Release 1 → 2", "  memory: 1Gi → 2Gi", "  env.COLOUR: removed", "  env.SIZE: added"]),
  );
  expect((await run("diff", "my-app", "2", "2")).stdout.trim()).toBe("Release 2 → 2: no differences");

  const plan = await run("rollback", "my-app", "--plan");
  expect(plan).toMatchObject({ code: 0 });
  expect(plan.stdout).toContain("Roll back to release 1");
  expect(plan.stdout).toContain("Replace memory: 2Gi → 1Gi");

  const done = await run("rollback", "my_app", "--message", "Too large");
  expect(done).toMatchObject({ code: 0 });
  expect(done.stdout).toContain("Rolling back 'my-app' to release 1");
  expect(done.stdout.trim().split("\n").at(-1)).toBe("https://my-app.memory.invalid");

  const rows = (await run("releases", "my-app")).stdout.trim().split("\n");
  expect(rows.map((row) => row.split("\t").filter((_, column) => column !== 3))).toEqual([
    ["3", "serving", "my-app-00003", "test", "rollback to 1: Too large"],
    ["2", "replaced", "my-app-00002", "test", "More memory"],
    ["1", "replaced", "my-app-00001", "test", "The first one"],
  ]);
  expect(`${diff.stdout}${plan.stdout}${rows}`).not.toContain("s3cret");
  const [newest, ...others] = JSON.parse((await run("releases", "my-app", "-n", "1", "--json")).stdout);
  expect([newest.release, others]).toEqual([3, []]);
});

test("a refused rollback exits with 1 and the platform's message", async () => {
  const { api, run } = await start();
  await using _api = api;
  using folder = folderWith(project({}));
  await run("deploy", folder.path);
  expect(await run("rollback", "my-app")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("no earlier release"),
  });
  expect(await run("rollback", "my-app", "9")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("portside releases my-app"),
  });
  expect(await run("rollback", "my-app", "first")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("release: must be the number of a release"),
  });
  expect(await run("rollback")).toMatchObject({ code: 2 });
});
