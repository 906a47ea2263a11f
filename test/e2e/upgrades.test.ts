/**
 * Services do not notice an upgrade, by `portside upgrade` and by SIGHUP. PORTSIDE_UPGRADES sets the number of rounds of each (2).
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { helloServer, nodeSource } from "../support/archives/archives.ts";
import { folderWith } from "../support/archives/folders.ts";
import { startCli } from "../support/cli/cli-process.ts";
import { startCallbackServer } from "../support/http/callback-server.ts";
import { Client, type Served, serve } from "../support/http/served.ts";
import { runners } from "../support/providers/local-platform.ts";
import { startTraffic } from "../support/traffic/traffic.ts";

const DRAIN_SECONDS = 3;
const rounds = Number(process.env["PORTSIDE_UPGRADES"] ?? 2);

const isAlive = (pid: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
};

/** A server whose engine is replaced. Ends at the end of its scope, before the folder is deleted. */
const start = async (dataDir: string, options: Readonly<Record<string, string>>) => {
  const served = await serve(dataDir, { "grace-seconds": "2", "log-level": "info", ...options });
  const engines = [served.child.pid as number];
  return {
    ...served,
    client: new Client(served.url, served.apiKey ?? ""),
    engines,
    current: () => engines.at(-1) as number,
    [Symbol.asyncDispose]: async () => {
      for (const pid of engines.filter(isAlive)) process.kill(pid, "SIGTERM");
      await expect.poll(() => engines.some(isAlive), { timeout: 20_000 }).toBe(false);
    },
  };
};

const upgrade = async (dataDir: string) => {
  const { code, stdout, stderr } = await startCli(["upgrade", "--json", "--data-dir", dataDir], process.env, dataDir)
    .ended;
  return { code, stderr, pid: code === 0 ? (JSON.parse(stdout) as { pid: number }).pid : undefined };
};

/** The latest upgrade in the log: the new process, and the time from which the old one drained. */
const lastUpgrade = ({ errors }: Served): { readonly pid: number; readonly time: number } | undefined => {
  const line = errors.findLast((one) => one.includes("a new process serves"));
  return line === undefined ? undefined : JSON.parse(line);
};

const upgradeBySignal = async (served: Served, engine: number): Promise<number> => {
  const before = lastUpgrade(served)?.pid;
  process.kill(engine, "SIGHUP");
  await expect.poll(() => lastUpgrade(served)?.pid, { timeout: 60_000 }).not.toBe(before);
  return lastUpgrade(served)?.pid as number;
};

test("no request fails, streams end only after the drain time, and no line is lost", async () => {
  using folder = folderWith();
  await using callbacks = await startCallbackServer();
  await using served = await start(folder.path, { runner: "process", "drain-seconds": String(DRAIN_SECONDS) });
  const { client, engines, current } = served;
  const { traffic, openStreams, linesOf } = await startTraffic(client, callbacks.env);
  for (let round = 0; round < 2 * rounds; round++) {
    const streams = Object.entries(openStreams());
    for (const [name, numbers] of streams)
      await expect.poll(() => numbers.next, { timeout: 20_000, message: name }).toBeGreaterThan(3);
    const old = current();
    const pid = round % 2 === 0 ? (await upgrade(folder.path)).pid : await upgradeBySignal(served, old);
    expect(pid).toBeDefined();
    engines.push(pid as number);
    await expect.poll(() => isAlive(old), { timeout: 30_000 }).toBe(false);
    const begun = lastUpgrade(served)?.time as number;
    for (const [name, numbers] of streams) {
      await expect.poll(() => numbers.problem, { message: name }).toMatch(/^ended/);
      // A timer may fire a millisecond early.
      expect(numbers.endedAt - begun, name).toBeGreaterThanOrEqual(DRAIN_SECONDS * 1000 - 10);
    }
  }
  await traffic.stop();
  expect(traffic.failures).toEqual([]);
  const instances = [...(await linesOf()).values()];
  expect(instances.length).toBeGreaterThan(2 * rounds);
  for (const lines of instances) expect(lines).toEqual(lines.map((_, n) => n));
  console.log(`${traffic.done} requests during ${2 * rounds} upgrades`);
});

test.for(runners)("%s: a new version that cannot start is abandoned, and the running one continues", async (runner) => {
  using folder = folderWith();
  await using served = await start(folder.path, { runner, "drain-seconds": "1" });
  const records = await Array.fromAsync(served.client.deploy("app", nodeSource(helloServer("app"))));
  const url = records.at(-1)?.url as string;
  writeFileSync(join(folder.path, "portside.config.json"), '{ "priceList": "missing.json" }');
  const { code, stderr } = await upgrade(folder.path);
  expect(code).toBe(1);
  expect(stderr).toContain("The upgrade failed, and the running version continues.");
  expect(await (await fetch(url)).text()).toBe("app");
  expect((await served.client.list()).map(({ name }) => name)).toEqual(["app"]);
  writeFileSync(join(folder.path, "portside.config.json"), "{}");
  const { pid } = await upgrade(folder.path);
  served.engines.push(pid as number);
  expect(await (await fetch(url)).text()).toBe("app");
  expect((await served.client.list()).map(({ name }) => name)).toEqual(["app"]);
});

test("reports that nothing runs", async () => {
  using folder = folderWith();
  const { code, stderr } = await upgrade(folder.path);
  expect(code).toBe(1);
  expect(stderr).toContain("No engine answers in the data folder");
});
