/** `portside serve --supervise`: restarts, stops and refusals, with real processes. */
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { startCli } from "../../../support/cli/cli-process.ts";
import { argumentsOf, descendantsOf, engineOf, serverOf } from "../../../support/http/serve-child.ts";
import { Client, type Served, serve } from "../../../support/http/served.ts";
import { isAlive } from "../../../support/vitest/eventually.ts";

/**
 * Responds `app`. On `/slow`, sends the first byte, and the rest a second later. On `/stuck`, never ends the response.
 */
const APP = nodeSource(`
import { createServer } from "node:http";
createServer((request, response) => {
  if (request.url === "/") return response.end("app");
  response.write(".");
  if (request.url === "/slow") setTimeout(() => response.end("done"), 1000);
}).listen(process.env.PORT);
`);

interface Supervised extends Served, AsyncDisposable {
  readonly pid: number;
  /** Resolves to the next ready line. */
  nextReady(): Promise<{ readonly url: string; readonly api_key?: string }>;
  /** The restarts in its log. */
  restarts(): { readonly how: unknown }[];
}

const supervise = async (
  dataDir: string,
  options: Readonly<Record<string, string | true>> = {},
  node: readonly string[] = [],
): Promise<Supervised> => {
  const served = await serve(dataDir, { runner: "process", supervise: true, ...options }, undefined, node);
  const { child, errors } = served;
  const pid = child.pid as number;
  const output = createInterface({ input: child.stdout as Readable });
  return {
    ...served,
    pid,
    nextReady: async () => JSON.parse(((await once(output, "line")) as [string])[0]),
    restarts: () => errors.filter((line) => line.includes("the platform ended")).map((line) => JSON.parse(line)),
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    },
  };
};

/** Deploys APP; returns its URL. */
const deploy = async ({ url, apiKey }: Served): Promise<string> => {
  const records = await Array.fromAsync(new Client(url, apiKey ?? "").deploy("app", APP));
  expect(records.at(-1)?.status).toBe("DONE");
  return records.at(-1)?.url as string;
};

/** Resolves when the service handles the request. */
const startRequest = async (url: string): Promise<{ readonly text: Promise<string> }> => {
  const { body } = await fetch(url);
  const reader = (body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  let text = (await reader.read()).value ?? "";
  const rest = async () => {
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
    return text;
  };
  return { text: rest() };
};

const statusOf = async (url: string): Promise<number | undefined> => (await fetch(url).catch(() => undefined))?.status;

test("restarts a killed engine with the same state and port, but without --accept-state", async () => {
  using folder = folderWith();
  await using served = await supervise(folder.path, { "accept-state": true });
  const service = await deploy(served);
  const first = engineOf(served.pid) as number;
  expect(argumentsOf(first)).toContain("--accept-state");
  for (let round = 0; round < 2; round++) {
    const ready = served.nextReady();
    process.kill(engineOf(served.pid) as number, "SIGKILL");
    expect(await ready).toMatchObject({ event: "ready", url: served.url });
    await expect.poll(async () => (await fetch(service)).text()).toBe("app");
    expect(await statusOf(`${served.url}/health`)).toBe(200);
    expect(served.restarts().map(({ how }) => how)).toEqual(Array(round + 1).fill("SIGKILL"));
  }
  expect(argumentsOf(engineOf(served.pid) as number)).not.toContain("--accept-state");
});

test.each([{ engine: "inline" }, { provider: "memory" }])("restarts the only process with %j", async (options) => {
  using folder = folderWith();
  await using served = await supervise(folder.path, options);
  const engine = engineOf(served.pid) as number;
  expect(serverOf(engine)).toBeUndefined();
  const ready = served.nextReady();
  process.kill(engine, "SIGKILL");
  expect(await statusOf(`${(await ready).url}/health`)).toBe(200);
});

test("keeps restarting an engine that cannot start again", async () => {
  using folder = folderWith();
  await using served = await supervise(folder.path);
  // A newer Portside has changed the format.
  using db = new DatabaseSync(join(folder.path, "state.sqlite"));
  db.exec("PRAGMA user_version = 1000");
  process.kill(engineOf(served.pid) as number, "SIGKILL");
  await expect
    .poll(() =>
      served
        .restarts()
        .map(({ how }) => how)
        .slice(0, 3),
    )
    .toEqual(["SIGKILL", 1, 1]);
});

test("restarts the engine once the machine can create processes again, and can be stopped until then", async () => {
  using folder = folderWith();
  const toggle = `data:text/javascript,${encodeURIComponent(`
    const path = process.execPath;
    process.on("SIGUSR2", () => { process.execPath = process.execPath === path ? "/nonexistent" : path; });
  `)}`;
  await using served = await supervise(folder.path, {}, ["--import", toggle]);
  const endWithoutProcesses = async () => {
    const failures = () => served.restarts().filter(({ how }) => how === "spawn /nonexistent ENOENT").length;
    const before = failures();
    served.child.kill("SIGUSR2");
    process.kill(engineOf(served.pid) as number, "SIGKILL");
    await expect.poll(failures).toBeGreaterThan(before);
  };
  await endWithoutProcesses();
  const ready = served.nextReady();
  served.child.kill("SIGUSR2");
  expect(await ready).toMatchObject({ url: served.url });
  await endWithoutProcesses();
  const ended = once(served.child, "exit");
  served.child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
});

test("if the supervisor is killed, the engine finishes its requests and ends with everything it started", async () => {
  using folder = folderWith();
  await using served = await supervise(folder.path);
  const request = await startRequest(`${await deploy(served)}/slow`);
  const pids = descendantsOf(served.pid);
  // The engine, the server and the service.
  expect(pids.length).toBeGreaterThanOrEqual(3);
  served.child.kill("SIGKILL");
  expect(await request.text).toBe(".done");
  await expect.poll(() => pids.filter(isAlive)).toEqual([]);
});

test.each([
  ["Ctrl-C in the terminal", ({ pid }: Supervised) => process.kill(-pid, "SIGINT")],
  ["SIGTERM to the supervisor", ({ pid }: Supervised) => process.kill(pid, "SIGTERM")],
  ["SIGTERM to the engine", ({ pid }: Supervised) => process.kill(engineOf(pid) as number, "SIGTERM")],
])("%s stops the platform once, after its running requests, with the exit code 0", async (_, stop) => {
  using folder = folderWith();
  await using served = await supervise(folder.path, { "log-level": "info" });
  const request = await startRequest(`${await deploy(served)}/slow`);
  const pids = descendantsOf(served.pid);
  const ended = once(served.child, "close");
  stop(served);
  expect(await request.text).toBe(".done");
  expect(await ended).toEqual([0, null]);
  expect(pids.filter(isAlive)).toEqual([]);
  expect(served.errors.filter((line) => line.includes('"stopping"'))).toHaveLength(1);
  expect(served.restarts()).toEqual([]);
});

test("a second SIGTERM ends the engine without waiting for requests", async () => {
  using folder = folderWith();
  await using served = await supervise(folder.path, { "drain-seconds": "600" });
  const { text } = await startRequest(`${await deploy(served)}/stuck`);
  const engine = engineOf(served.pid) as number;
  const [service] = descendantsOf(engine).filter((pid) => pid !== serverOf(engine));
  onTestFinished(() => void process.kill(service as number, "SIGKILL"));
  const ended = once(served.child, "exit");
  const cut = expect(text).rejects.toThrow();
  // The supervisor ignores a second signal for a second, because npm repeats Ctrl-C.
  while (served.child.exitCode === null) {
    served.child.kill("SIGTERM");
    await sleep(300);
  }
  expect(await ended).toEqual([130, null]);
  await expect.poll(() => isAlive(engine)).toBe(false);
  await cut;
});

/** Upgrades by a signal to the supervisor. Returns the new engine. */
const upgrade = async ({ pid, errors }: Supervised): Promise<number> => {
  const before = errors.filter((line) => line.includes("a new process serves")).length;
  process.kill(pid, "SIGHUP");
  const lines = () => errors.filter((line) => line.includes("a new process serves")).slice(before);
  await expect.poll(lines, { timeout: 60_000 }).toHaveLength(1);
  return (JSON.parse(lines()[0] as string) as { pid: number }).pid;
};

test("a supervisor continues to watch the platform after an upgrade, and restarts it", async () => {
  using folder = folderWith();
  await using served = await supervise(folder.path, { "log-level": "info", "drain-seconds": "1" });
  const service = await deploy(served);
  const first = engineOf(served.pid) as number;
  const second = await upgrade(served);
  await expect.poll(() => isAlive(first)).toBe(false);
  const third = await upgrade(served);
  await expect.poll(() => isAlive(second)).toBe(false);
  expect(await (await fetch(service)).text()).toBe("app");
  expect(served.restarts()).toEqual([]);
  const ready = served.nextReady();
  process.kill(third, "SIGKILL");
  expect(await ready).toMatchObject({ event: "ready", url: served.url });
  expect(await (await fetch(service)).text()).toBe("app");
  expect(served.restarts().map(({ how }) => how)).toEqual(["unknown"]);
});

test.each([
  ["SIGTERM to the supervisor", ({ pid }: Supervised) => process.kill(pid, "SIGTERM"), [0, null]],
  ["SIGTERM to the engine", (_: Supervised, engine: number) => process.kill(engine, "SIGTERM"), [0, null]],
  ["SIGKILL to the supervisor", ({ pid }: Supervised) => process.kill(pid, "SIGKILL"), [null, "SIGKILL"]],
] as const)("after an upgrade, %s stops every process once running requests have ended", async (_, stop, end) => {
  using folder = folderWith();
  await using served = await supervise(folder.path, { "log-level": "info" });
  const service = await deploy(served);
  const engine = await upgrade(served);
  const request = await startRequest(`${service}/slow`);
  const pids = [engine, ...descendantsOf(engine)];
  const ended = once(served.child, "exit");
  stop(served, engine);
  expect(await request.text).toBe(".done");
  expect(await ended).toEqual(end);
  await expect.poll(() => pids.filter(isAlive)).toEqual([]);
  expect(served.restarts()).toEqual([]);
});

test("a first start that fails ends with the engine's exit code and its only message", async () => {
  using folder = folderWith();
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  onTestFinished(() => void other.close());
  const { port } = other.address() as { port: number };
  const start = (...options: string[]) => {
    const args = ["--data-dir", folder.path, "--ingress-port", "0", "--log-level", "warn", ...options];
    return startCli(["serve", "--supervise", ...args], {}, folder.path).ended;
  };
  const inUse = await start("--port", String(port));
  expect(inUse).toMatchObject({ code: 1, stdout: "" });
  expect(inUse.stderr.match(/^error: .*/gm)).toEqual([expect.stringContaining(`Port ${port} (API) is in use.`)]);
  expect(inUse.stderr).not.toContain("the platform ended");
  expect(await start("--porr", "1")).toEqual({
    code: 2,
    stdout: "",
    stderr: "error: Unknown option '--porr'. Did you mean '--port'?\n",
  });
  await using _ = await supervise(folder.path);
  const locked = await start("--port", "0");
  expect(locked).toMatchObject({ code: 1, stdout: "" });
  expect(locked.stderr).not.toContain("the platform ended");
});

test("a process that a signal ends before it is ready is reported", async () => {
  using folder = folderWith();
  const { child, ended } = startCli(["serve", "--supervise", "--data-dir", folder.path], {}, folder.path);
  await expect.poll(() => engineOf(child.pid as number)).toBeDefined();
  process.kill(engineOf(child.pid as number) as number, "SIGKILL");
  expect(await ended).toEqual({
    code: 137,
    stdout: "",
    stderr: "error: The platform's process ended before it was ready: SIGKILL.\n",
  });
});
