/**
 * kill -9 of `portside prove` at random moments, and `--clean` afterwards. PORTSIDE_PROVE_KILLS sets the number of
 * kills (4), PORTSIDE_SEED the seed.
 */
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { folderWith } from "../../../support/archives/folders.ts";
import { startCli } from "../../../support/cli/cli-process.ts";
import { namesIn } from "../../../support/cli/prove.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { createFastClock } from "../../../support/clocks/fast-clock.ts";
import { serveApi, type TestApi } from "../../../support/http/api.ts";
import { startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";

const count = Number(process.env["PORTSIDE_PROVE_KILLS"] ?? 4);
const seed = Number(process.env["PORTSIDE_SEED"] ?? randomInt(2 ** 31));

/** The number of steps that end before the kill, and the milliseconds from the last step to the kill. */
const moment = fc.record({ steps: fc.integer({ min: 0, max: 11 }), millis: fc.integer({ min: 0, max: 1500 }) });
const moments = fc.sample(fc.noBias(moment), { seed, numRuns: count }).map((one, index) => ({ ...one, index }));

/** How long the server may take to end requests of the killed process. */
const IN_FLIGHT_MS = 3000;

let platform: TestPlatform;
let api: TestApi;
let withNames = 0;

beforeAll(async () => {
  platform = await startLocal({ runner: "process" }, {}, { clock: createFastClock(6) });
  const accountLimits = { buildsAtOnce: 10, uploadsAtOnce: 10 };
  api = await serveApi(platform.local.ports, { accountLimits });
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await platform[Symbol.asyncDispose]();
});

/** Starts a run, and kills it at the moment. Resolves when the process has ended. */
const proveUntil = async (env: NodeJS.ProcessEnv, cwd: string, steps: number, millis: number): Promise<void> => {
  const { child, ended } = startCli(["prove", "-y"], { ...env, TMPDIR: cwd }, cwd);
  let output = "";
  child.stderr?.on("data", (text) => {
    output += text;
  });
  const isReached = () => output.includes("This run creates") && output.split(/^pass /m).length > steps;
  while (!isReached() && child.exitCode === null) await sleep(20);
  await Promise.race([sleep(millis), once(child, "exit")]);
  child.kill("SIGKILL");
  const { stderr } = await ended;
  expect(stderr).not.toMatch(/^fail /m);
};

describe.concurrent("after kill -9, --clean leaves nothing behind", () => {
  test.each(moments)(
    "kill $index: $millis ms after $steps steps",
    { timeout: 300_000 },
    async ({ steps, millis, index }) => {
      using folder = folderWith();
      const account = `killed-${index}`;
      const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key(account) };
      await proveUntil(env, folder.path, steps, millis);
      // Node keeps its compile cache here.
      expect(readdirSync(folder.path).filter((name) => name !== "node-compile-cache")).toEqual([]);
      if ((await namesIn(api, account)).length > 0) withNames++;
      const cleaned = await portside(["prove", "--clean", "-y", "--json", "-"], { env });
      expect(cleaned).toMatchObject({ code: 0 });
      await sleep(IN_FLIGHT_MS);
      expect(await namesIn(api, account)).toEqual([]);
    },
  );
});

test("a kill left something to clean", () => {
  expect(withNames).toBeGreaterThan(0);
});
