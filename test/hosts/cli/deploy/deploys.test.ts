/** `portside deploys`, `attach`, `cancel` and Ctrl-C against the real HTTP API, with builds that wait for the test. */
import { expect, test } from "vitest";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside, type RunOptions } from "../../../support/cli/terminal.ts";
import { serveHeld } from "../../../support/http/held-api.ts";

const start = async () => {
  const platform = await serveHeld();
  const env = { PORTSIDE_URL: platform.api.url, PORTSIDE_API_KEY: platform.key };
  const folder = folderWith({ "package.json": "{}", "portside.json": JSON.stringify({ name: "my-app", volumes: {} }) });
  const run = (args: readonly string[], options: RunOptions = {}) => portside(args, { env, ...options });
  return {
    ...platform,
    run,
    folder,
    [Symbol.asyncDispose]: async () => {
      folder[Symbol.dispose]();
      await platform[Symbol.asyncDispose]();
    },
  };
};

/** Interrupts a deploy during its build, as Ctrl-C does. */
const detached = async ({ run, folder, held }: Awaited<ReturnType<typeof start>>) => {
  const interrupt = new AbortController();
  const { promise: printed, resolve } = Promise.withResolvers<void>();
  const deploying = run(["deploy", folder.path], { signal: interrupt.signal, onOutput: () => resolve() });
  // Before the first record, the command does not know the id of the deploy.
  await Promise.all([held.waiting, printed]);
  const [row] = JSON.parse((await run(["deploys", "--json"])).stdout);
  interrupt.abort();
  return { ...(await deploying), id: row.deploy_id as string };
};

test("Ctrl-C detaches from a deploy, which continues and can be attached to again", async () => {
  await using platform = await start();
  const { run, held } = platform;
  const { code, stderr, id } = await detached(platform);
  expect(code).toBe(130);
  expect(stderr).toContain(`Detached. Deploy ${id} continues; follow it with 'portside attach ${id}'.\n`);
  expect((await run(["deploys"])).stdout).toMatch(new RegExp(`^${id}\tmy-app\tBUILDING\t\\d+ s ago\trunning\t`));
  held.release();
  const attached = await run(["attach", id]);
  expect(attached.code).toBe(0);
  expect(attached.stdout).toContain("Deploying as 'my-app'");
  expect(attached.stdout.trim().split("\n").at(-1)).toBe("https://my-app.memory.invalid");
  expect((await run(["deploys", "my-app", "-n", "1"])).stdout).toMatch(
    new RegExp(`^${id}\tmy-app\tDONE\t\\d+ s ago\t\\d+ s\tRevision my-app-00001 serves all traffic\n$`),
  );
});

test("cancels a deploy by its id", async () => {
  await using platform = await start();
  const { run } = platform;
  const { id } = await detached(platform);
  expect(await run(["cancel", id])).toMatchObject({ code: 0, stdout: "The deploy of 'my-app' was cancelled.\n" });
  expect((await run(["attach", id])).code).toBe(1);
  expect((await run(["deploys"])).stdout).toContain("\tinterrupted\t");
  expect(await run(["cancel", "no-such-deploy"])).toMatchObject({ code: 1 });
});

test("lists nothing before the first deploy, and rejects wrong arguments", async () => {
  await using platform = await start();
  const { run } = platform;
  expect(await run(["deploys"])).toMatchObject({
    code: 0,
    stdout: "",
    stderr: expect.stringContaining("portside deploy"),
  });
  expect(await run(["deploys", "nothing"])).toMatchObject({ code: 1 });
  for (const words of [["attach"], ["cancel"], ["deploys", "a", "b"]])
    expect(await run(words)).toMatchObject({ code: 2 });
});
