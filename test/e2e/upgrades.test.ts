/**
 * An upgrade by `portside upgrade` or SIGHUP does not affect services. PORTSIDE_UPGRADES sets the number of rounds of
 * each (3).
 */
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { Agent } from "node:https";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { requestUpgrade } from "../../adapters/local/engine/socket/connect-engine.ts";
import { freePort } from "../../adapters/local/instances/free-port.ts";
import type { DeployEvent } from "../../core/domain/deploy/events.ts";
import { helloServer, nodeSource } from "../support/archives/archives.ts";
import { folderWith } from "../support/archives/folders.ts";
import { startCli } from "../support/cli/cli-process.ts";
import { startCallbackServer } from "../support/http/callback-server.ts";
import { Client, type Served, serve } from "../support/http/served.ts";
import { runners } from "../support/providers/local-platform.ts";
import { createTestAuthority } from "../support/tls/test-authority.ts";
import { sendTls } from "../support/tls/tls-clients.ts";
import { startTraffic } from "../support/traffic/traffic.ts";

const DRAIN_SECONDS = 3;
const rounds = Number(process.env["PORTSIDE_UPGRADES"] ?? 3);

const isAlive = (pid: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
};

/** A server for upgrades. Its engines end when its scope ends, before the folder is deleted. */
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
      await expect.poll(() => engines.some(isAlive)).toBe(false);
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
    for (const [name, numbers] of streams) await expect.poll(() => numbers.next, { message: name }).toBeGreaterThan(3);
    const old = current();
    const pid = round % 2 === 0 ? (await upgrade(folder.path)).pid : await upgradeBySignal(served, old);
    expect(pid).toBeDefined();
    engines.push(pid as number);
    await expect.poll(() => isAlive(old)).toBe(false);
    const begun = lastUpgrade(served)?.time as number;
    for (const [name, numbers] of streams) {
      await expect.poll(() => numbers.problem, { message: name }).toMatch(/^ended/);
      // The old process starts its timer before it writes the line.
      expect(numbers.endedAt - begun, name).toBeGreaterThan((DRAIN_SECONDS - 1) * 1000);
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

test("a new version whose server cannot start is abandoned, and the running one continues", async () => {
  using folder = folderWith();
  await using served = await start(folder.path, { runner: "process", "drain-seconds": "1" });
  const records = await Array.fromAsync(served.client.deploy("app", nodeSource(helloServer("app"))));
  const other = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const { port } = other.address() as AddressInfo;
  writeFileSync(join(folder.path, "portside.config.json"), JSON.stringify({ metricsPort: port }));
  const { code, stderr } = await upgrade(folder.path);
  expect(stderr).toContain(`the running version continues. Port ${port} (metrics) is in use`);
  expect(code).toBe(1);
  expect(await (await fetch(records.at(-1)?.url as string)).text()).toBe("app");
  expect((await served.client.list()).map(({ name }) => name)).toEqual(["app"]);
  const again = await Array.fromAsync(served.client.deploy("app", nodeSource(helloServer("again"))));
  expect(await (await fetch(again.at(-1)?.url as string)).text()).toBe("again");
});

test("refuses a second upgrade during the first one, and while the replaced process drains", async () => {
  using folder = folderWith();
  await using served = await start(folder.path, { runner: "process", "drain-seconds": "300" });
  const { client, engines } = served;
  const records = await Array.fromAsync(client.deploy("app", nodeSource(helloServer("app"))));
  const url = records.at(-1)?.url as string;
  // The replaced process drains until this connection ends.
  const open = connect(Number(new URL(url).port), "127.0.0.1");
  onTestFinished(() => void open.destroy());
  await once(open, "connect");
  // The calls start together in this process. Two commands may start so far apart that the upgrades do not overlap.
  const call = () => requestUpgrade(folder.path, () => undefined);
  const both = await Promise.allSettled([call(), call()]);
  engines.push(...both.flatMap((one) => (one.status === "fulfilled" ? one.value : [])));
  const refused = both.flatMap((one) => (one.status === "rejected" ? `${one.reason}` : []));
  expect(refused).toEqual(["Error: Another upgrade is in progress."]);
  // A replaced process ignores the signal.
  process.kill(served.child.pid as number, "SIGHUP");
  expect((await upgrade(folder.path)).stderr).toContain("An earlier upgrade is still in progress.");
  expect(await (await fetch(url)).text()).toBe("app");
  expect((await client.list()).map(({ name }) => name)).toEqual(["app"]);
  open.destroy();
  await expect.poll(() => isAlive(served.child.pid as number)).toBe(false);
  engines.push((await upgrade(folder.path)).pid as number);
  expect(await (await fetch(url)).text()).toBe("app");
});

test.for(runners)("%s: fixed ports stay the same, and services can be deleted and created", async (runner) => {
  using folder = folderWith();
  const free = new Set<number>();
  while (free.size < 3) free.add(await freePort());
  const [api, ingress, metrics] = free;
  const ports = { port: `${api}`, "ingress-port": `${ingress}`, "metrics-port": `${metrics}` };
  await using served = await start(folder.path, { runner, "drain-seconds": "1", ...ports });
  const { client, engines } = served;
  const deploy = async (name: string) => {
    const records = await Array.fromAsync(client.deploy(name, nodeSource(helloServer(name))));
    return records.at(-1)?.url as string;
  };
  const url = await deploy("app");
  await deploy("gone");
  await client.remove("gone");
  for (let round = 0; round < 2; round++) {
    const { pid, stderr } = await upgrade(folder.path);
    expect(pid, stderr).toBeDefined();
    engines.push(pid as number);
    expect(await (await fetch(url)).text()).toBe("app");
    expect((await client.list()).map(({ name }) => name)).toEqual(["app"]);
    expect((await fetch(`http://127.0.0.1:${metrics}/metrics`)).status).toBe(200);
    expect((await fetch(`http://127.0.0.1:${ingress}/`)).status).toBe(404);
    await expect.poll(() => engines.slice(0, -1).some(isAlive)).toBe(false);
  }
  expect(await (await fetch(await deploy("gone"))).text()).toBe("gone");
});

/** A service that starts to listen after `millis`. */
const slowSource = (millis: number) =>
  nodeSource(`
import { createServer } from "node:http";
setTimeout(() => createServer((_request, response) => response.end("slow")).listen(process.env.PORT), ${millis});
`);

test("deploys that end within the drain time complete, and longer ones end with `interrupted`", async () => {
  using folder = folderWith();
  await using served = await start(folder.path, { runner: "process", "drain-seconds": "6" });
  const { client, engines } = served;
  const lastOf = async (name: string, source: Uint8Array, onDeploying: () => void = () => undefined) => {
    let last: DeployEvent | undefined;
    for await (const record of client.deploy(name, source)) {
      if (record.status === "DEPLOYING") onDeploying();
      last = record;
    }
    return last;
  };
  const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const short = lastOf("short", slowSource(3000), begun[0].resolve);
  const long = lastOf("long", slowSource(50_000), begun[1].resolve);
  await Promise.all(begun.map(({ promise }) => promise));
  const upgrading = startCli(["upgrade", "--json", "--data-dir", folder.path], process.env, folder.path);
  let progress = "";
  upgrading.child.stderr?.on("data", (chunk) => {
    progress += chunk;
  });
  await expect.poll(() => progress).toContain("Waiting for running deploys");
  const during = lastOf("during", nodeSource(helloServer("during")));
  expect(await Promise.all([short, during, long])).toMatchObject([
    { status: "DONE" },
    { status: "DONE" },
    { status: "ERROR", reason: "interrupted" },
  ]);
  engines.push((JSON.parse((await upgrading.ended).stdout) as { pid: number }).pid);
  const statuses = (await client.list()).map(({ name, status }) => [name, status]);
  expect(Object.fromEntries(statuses)).toEqual({ short: "READY", during: "READY", long: "FAILED" });
  expect((await lastOf("long", nodeSource(helloServer("long"))))?.status).toBe("DONE");
});

test("fails if no engine runs", async () => {
  using folder = folderWith();
  const { code, stderr } = await upgrade(folder.path);
  expect(code).toBe(1);
  expect(stderr).toContain("No engine answers in the data folder");
});

test("no request over TLS fails, even to the API, and new handshakes reach the new process", async () => {
  using folder = folderWith();
  const authority = createTestAuthority();
  const { chain, privateKey } = authority.issue("*.tls-upgrade.example", "tls-upgrade.example");
  const files = { "tls-cert": join(folder.path, "cert.pem"), "tls-key": join(folder.path, "key.pem") };
  writeFileSync(files["tls-cert"], chain);
  writeFileSync(files["tls-key"], privateKey);
  await using served = await start(folder.path, {
    runner: "process",
    "drain-seconds": String(DRAIN_SECONDS),
    domain: "tls-upgrade.example",
    // Two clients open a connection per request, which can exceed the limit for one address.
    "tls-port": "0",
    "http-port": "0",
    "tls-connections-per-second": "0",
    ...files,
  });
  const records = await Array.fromAsync(served.client.deploy("tls-app", nodeSource(helloServer("app"))));
  const { hostname, port } = new URL(records.at(-1)?.url as string);
  const target = { port: Number(port), ca: authority.ca };
  const stopped = new AbortController();
  const texts: string[] = [];
  const load = async (agent: Agent | undefined) => {
    while (!stopped.signal.aborted)
      texts.push((await sendTls(target, hostname, agent === undefined ? {} : { agent })).text);
  };
  const agents = Array.from({ length: 3 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  const health: number[] = [];
  const loadApi = async (agent: Agent | undefined) => {
    const options = { path: "/health", ...(agent === undefined ? {} : { agent }) };
    while (!stopped.signal.aborted) health.push((await sendTls(target, "tls-upgrade.example", options)).status);
  };
  const apiAgent = new Agent({ keepAlive: true, maxSockets: 1 });
  const loads = [...agents.map(load), load(undefined), loadApi(apiAgent), loadApi(undefined)];
  for (let round = 0; round < rounds; round++) {
    const old = served.current();
    served.engines.push((await upgrade(folder.path)).pid as number);
    await expect.poll(() => isAlive(old)).toBe(false);
    const before = [texts.length, health.length] as const;
    await expect.poll(() => texts.length).toBeGreaterThan(before[0] + 20);
    await expect.poll(() => health.length).toBeGreaterThan(before[1] + 20);
  }
  stopped.abort();
  await Promise.all(loads);
  for (const agent of [...agents, apiAgent]) agent.destroy();
  expect(new Set(texts)).toEqual(new Set(["app"]));
  expect(new Set(health)).toEqual(new Set([200]));
});
