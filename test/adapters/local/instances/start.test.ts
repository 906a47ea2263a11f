/** Starts of instances, including starts that fail for reasons outside of the service. */
import { existsSync, readdirSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Instance } from "../../../../adapters/local/instances/instance.ts";
import type { Runner } from "../../../../adapters/local/sandbox/runner.ts";
import { helloServer } from "../../../support/archives/archives.ts";
import { createInstances } from "../../../support/providers/instances.ts";
import { runners } from "../../../support/providers/local-platform.ts";
import { createBench, type JobSetup } from "../../../support/sandbox/jobs.ts";

const hello = helloServer("hello").replace(
  'import { createServer } from "node:http"',
  'const { createServer } = require("node:http")',
);
const started = (outcome: unknown): Instance => {
  if (typeof outcome === "object" && outcome !== null && "reason" in outcome) throw new Error(JSON.stringify(outcome));
  return outcome as Instance;
};

const thieves: Server[] = [];
afterEach(() => {
  for (const thief of thieves.splice(0)) thief.close();
});

/** A runner whose first `times` jobs lose their port to another program. */
const robbed = (runner: Runner, times: number): Runner & { starts: number } => ({
  ...runner,
  starts: 0,
  start(job, onLine) {
    if (++this.starts <= times) {
      const thief = createServer().listen(Number(job.env["PORT"]), "127.0.0.1");
      // Ignore errors: if another program was faster, the port is taken anyway.
      thief.on("error", () => undefined);
      thieves.push(thief);
      return runner.start({ ...job, env: { ...job.env, ROBBED: "1" } }, onLine);
    }
    return runner.start(job, onLine);
  },
});

/** A server that starts after the thief: a busy machine may run the service's process before the thief's next step. */
const afterThief = (server: string): string => `
const start = () => { ${server} };
const wait = () =>
  require("node:net").connect(process.env.PORT, "127.0.0.1").once("connect", start).once("error", () => setTimeout(wait, 5));
process.env.ROBBED ? wait() : start();
`;

describe.each(runners)("%s", (kind) => {
  const setup: JobSetup = { kind, limits: "watchdog" };

  test("fails a service whose health check never passes, with the last status and body", async () => {
    await using bench = await createBench(setup);
    const health = { path: "/healthz", interval: 10, timeout: 5, failures: 3 };
    const server = `require("node:http").createServer((q, r) => r.writeHead(q.url === "/healthz" ? 503 : 200).end("no database")).listen(process.env.PORT)`;
    const instances = createInstances(bench);
    const outcome = await instances.start(server, { template: { health }, listenMillis: 1500 });
    expect(outcome).toMatchObject({
      reason: "unhealthy",
      message:
        "The service listens, but its health check GET /healthz did not pass within 1.5 s: it responded with status 503: no database",
    });
    expect(instances.messages).toEqual([
      "Waiting for the health check: GET /healthz responded with status 503: no database",
    ]);
  });

  test("a start does not fail because the machine's clock is set forward", async () => {
    await using bench = await createBench(setup);
    const instances = createInstances(bench);
    const changesAt = performance.now() + 250;
    const realNow = Date.now;
    const now = vi.spyOn(Date, "now");
    now.mockImplementation(() => realNow() + (performance.now() < changesAt ? 0 : 3_600_000));
    onTestFinished(() => now.mockRestore());
    const slow = `setTimeout(() => { ${hello} }, 500);`;
    await started(await instances.start(slow, { listenMillis: 30_000 })).stop();
  });

  test("reports a crash during the health check as a crash", async () => {
    await using bench = await createBench(setup);
    const health = { path: "/", interval: 10, timeout: 5, failures: 3 };
    const server = `require("node:http").createServer((q, r) => { r.writeHead(500).end(); setTimeout(() => process.exit(7), 100); }).listen(process.env.PORT)`;
    const outcome = await createInstances(bench).start(server, { template: { health } });
    expect(outcome).toMatchObject({ reason: "crashed", exitCode: 7 });
  });

  test("assigns a free port and resolves when the service listens", async () => {
    await using bench = await createBench(setup);
    const instances = createInstances(bench);
    const instance = started(await instances.start(hello));
    expect(await (await fetch(`http://127.0.0.1:${instance.port}`)).text()).toBe("hello");
    const exit = await instance.stop();
    expect(exit.code).toBe(0);
    expect(bench.survivors()).toEqual([]);
    await expect.poll(() => readdirSync(instances.runDir)).toEqual([]);
  });

  test.each([
    ["exits", hello],
    ["ignores the error", `process.on("uncaughtException", () => setInterval(() => {}, 1000)); ${hello}`],
  ])("retries with another port if another program takes the port first and the service %s", async (_how, server) => {
    await using bench = await createBench(setup);
    const runner = robbed(bench.runner, 2);
    const instances = createInstances(bench, { runner });
    const instance = started(await instances.start(afterThief(server)));
    expect(runner.starts).toBe(3);
    expect(await (await fetch(`http://127.0.0.1:${instance.port}`)).text()).toBe("hello");
    await instance.stop();
    expect(bench.survivors()).toEqual([]);
  });

  test("fails with a message if other programs repeatedly take the port", async () => {
    await using bench = await createBench(setup);
    const runner = robbed(bench.runner, 99);
    const outcome = await createInstances(bench, { runner }).start(afterThief(hello));
    expect(outcome).toMatchObject({
      reason: "did_not_listen",
      message: expect.stringContaining("took the service's port"),
    });
    expect(runner.starts).toBe(3);
    expect(bench.survivors()).toEqual([]);
  });

  test("leaves no process after a cancelled start", async () => {
    await using bench = await createBench(setup);
    const instances = createInstances(bench);
    const outcome = await instances.start("setInterval(() => {}, 1000)", { signal: AbortSignal.timeout(300) });
    expect(outcome).toMatchObject({ reason: "interrupted" });
    expect(bench.survivors()).toEqual([]);
    await expect.poll(() => readdirSync(instances.runDir)).toEqual([]);
  });

  test("passes the memory limit to Node.js without a control group, unless the service sets its own", async () => {
    await using bench = await createBench(setup);
    const instances = createInstances(bench, { tellsNodeItsMemory: true });
    const server = `console.log("options:" + process.env.NODE_OPTIONS); ${hello}`;
    const optionsWith = async (env: Record<string, string>) => {
      const from = instances.entries.length;
      await started(await instances.start(server, { template: { memory: 512 * 1024 ** 2, env } })).stop();
      return instances.entries.slice(from).find(({ text }) => text?.startsWith("options:"))?.text;
    };
    expect(await optionsWith({})).toBe("options:--max-old-space-size=384");
    expect(await optionsWith({ NODE_OPTIONS: "--no-warnings" })).toBe("options:--no-warnings --max-old-space-size=384");
    const own = "--max-old-space-size=99";
    expect(await optionsWith({ NODE_OPTIONS: own })).toBe(`options:${own}`);
  });
});

test("returns a failure if the machine cannot start another process", async () => {
  await using bench = await createBench({ kind: "process", limits: "watchdog" });
  const runner: Runner = {
    ...bench.runner,
    start: () => {
      throw Object.assign(new Error("write ENOSPC"), { code: "ENOSPC" });
    },
  };
  const instances = createInstances(bench, { runner });
  expect(await instances.start(hello)).toMatchObject({ reason: "provider_unavailable" });
  expect(instances.complaints).toEqual(["could not start an instance"]);
});

test("removes a folder that a service made hard to remove", async () => {
  await using bench = await createBench({ kind: "process", limits: "watchdog" });
  const instances = createInstances(bench);
  const hard = `const fs = require("fs"); process.chdir(process.env.HOME); fs.mkdirSync("closed/inner", { recursive: true });
    fs.chmodSync("closed", 0); ${hello}`;
  const instance = started(await instances.start(hard));
  expect(existsSync(`${instances.runDir}/${instance.id}/closed`)).toBe(true);
  await instance.stop();
  await expect.poll(() => readdirSync(instances.runDir)).toEqual([]);
  expect(instances.complaints).toEqual([]);
});
