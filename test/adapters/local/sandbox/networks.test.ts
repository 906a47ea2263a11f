/** The server creates sandbox networks in advance, and blocks every address of the machine in them. */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { processInfo } from "../../../../adapters/local/instances/proc.ts";
import { killOrphans } from "../../../../adapters/local/sandbox/launch.ts";
import { readHostNetwork } from "../../../../adapters/local/sandbox/network/host-network.ts";
import { Networks, whyNoNetworks } from "../../../../adapters/local/sandbox/network/networks.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";
import { holdersOf, networksOf } from "../../../support/sandbox/sandbox-networks.ts";
import { needs } from "../../../support/vitest/machine.ts";

const run = promisify(execFile);
const lacking = await whyNoNetworks("test");
const PORT = 8080;

let scope: string;
let networks: Networks;

beforeEach((context) => {
  if (lacking !== undefined) context.skip(lacking);
  scope = `test${randomUUID().slice(0, 8)}`;
  networks = new Networks(scope, [], silentLogger);
});

afterEach(async () => {
  if (lacking !== undefined) return;
  await networks.close();
  await killOrphans(scope);
});

/** Prepares a network and waits until it is available. */
const prepare = async (inside: number): Promise<number> => {
  const before = networksOf(scope);
  const added = () => [...networksOf(scope)].find(([name]) => !before.has(name))?.[1].holder;
  networks.prepare(inside);
  await expect.poll(added).toBeDefined();
  return added() as number;
};

test("a service gets the spare network, once", async () => {
  const ready = await prepare(PORT);
  const first = await networks.forService(PORT, readHostNetwork());
  const second = await networks.forService(PORT, readHostNetwork());
  expect(first.pid).toBe(ready);
  expect(second.pid).not.toBe(ready);
  const next = await prepare(PORT);
  expect((await networks.forService(PORT, readHostNetwork())).pid).toBe(next);
});

test("ends a spare network if the next service needs a different port, or if the platform's open ports have changed", async () => {
  const ready = await prepare(PORT);
  expect((await networks.forService(3000, readHostNetwork())).pid).not.toBe(ready);
  await expect.poll(() => holdersOf(scope)).not.toContain(ready);
  const again = await prepare(PORT);
  networks.openTo(() => [4000]);
  const network = await networks.forService(PORT, readHostNetwork());
  expect(network.pid).not.toBe(again);
  expect(network.opened).toEqual([4000]);
  await expect.poll(() => holdersOf(scope)).not.toContain(again);
});

test("a service does not get a spare network that has ended", async () => {
  const ready = await prepare(PORT);
  for (const { pids } of networksOf(scope).values()) for (const pid of pids) process.kill(pid, "SIGKILL");
  // `holdersOf` finds a process by its environment, which the kernel removes before the process has ended.
  await expect.poll(() => processInfo(ready)).toBeUndefined();
  const network = await networks.forService(PORT, readHostNetwork());
  expect(network.pid).not.toBe(ready);
  await expect.poll(() => holdersOf(scope)).toContain(network.pid);
});

test("no network reaches an address that the machine gets later", async (context) => {
  needs(context, "root", "python");
  const script = new URL("../../../support/sandbox/machine-network.ts", import.meta.url).pathname;
  // The kernel's list of bridges belongs to the network in which /sys was mounted.
  const command = 'mount -t sysfs sysfs /sys && exec "$@"';
  const argv = ["--net", "--mount", "sh", "-c", command, "sh", process.execPath, script, scope];
  const { stdout } = await run("unshare", argv, { timeout: 60_000, killSignal: "SIGKILL" });
  const heard = Object.entries(JSON.parse(stdout) as Record<string, string>);
  expect(heard.length).toBe(8);
  expect(heard.filter(([, outcome]) => !/^(ECONNREFUSED|silent)(,silent)?$/.test(outcome))).toEqual([]);
});
