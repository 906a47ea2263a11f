/** An upgrade during which a process ends. Services continue, or the next start on the data folder succeeds. */
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { withoutScope } from "../../adapters/local/sandbox/scope.ts";
import { SUCCESSOR } from "../../hosts/cli/server/upgrade/messages.ts";
import { helloServer, nodeSource } from "../support/archives/archives.ts";
import { folderWith } from "../support/archives/folders.ts";
import { startCli } from "../support/cli/cli-process.ts";
import { scopeOf } from "../support/crashes/crash-check.ts";
import { descendantsOf, serverOf } from "../support/http/serve-child.ts";
import { Client, serve } from "../support/http/served.ts";
import { marked } from "../support/sandbox/jobs.ts";
import type { Fault } from "../support/upgrade/fault.ts";
import { isAlive } from "../support/vitest/eventually.ts";
import { sampled } from "../support/vitest/sampled.ts";

const steps = ["open", "api", "settle", "port", "lead", "ready"] as const;
const moments = steps.flatMap((step) => (["before", "after"] as const).map((when) => ({ step, when })));
/** The moments with distinct states of the two processes. The other moments repeat the state of an earlier one. */
const ends = moments.filter(({ step, when }) => when === "after" || step === "lead");

const preload = new URL("../support/upgrade/fault.ts", import.meta.url).pathname;

const start = async (folder: string, dataFolder = "data") => {
  const dataDir = join(folder, dataFolder);
  const faultFile = join(folder, "fault.json");
  writeFileSync(faultFile, "");
  const options = { runner: "process", "drain-seconds": "1", "grace-seconds": "1", "log-level": "info" };
  const served = await serve(dataDir, options, undefined, ["--import", preload], { PORTSIDE_TEST_FAULT: faultFile });
  const client = new Client(served.url, served.apiKey ?? "");
  const engines = [served.child.pid as number];
  onTestFinished(async () => {
    for (const pid of engines.filter(isAlive)) process.kill(pid, "SIGTERM");
    await expect.poll(() => engines.some(isAlive)).toBe(false);
  });
  const records = await Array.fromAsync(client.deploy("app", nodeSource(helloServer("app"))));
  const upgrade = async (fault?: Fault) => {
    writeFileSync(faultFile, fault === undefined ? "" : JSON.stringify(fault));
    const ended = await startCli(["upgrade", "--json", "--data-dir", dataDir], process.env, folder).ended;
    if (ended.code !== 0) return ended;
    const { pid } = JSON.parse(ended.stdout) as { pid: number };
    engines.push(pid);
    return { ...ended, pid };
  };
  const newPid = () => Number(readFileSync(`${faultFile}.pid`, "utf8"));
  return { ...served, client, dataDir, engines, upgrade, newPid, options, service: records.at(-1)?.url as string };
};

type Started = Awaited<ReturnType<typeof start>>;

/** Expects a response of the service. `errors` is the server's log. */
const expectResponds = async (service: string, errors: readonly string[], message = ""): Promise<void> => {
  const response = await fetch(service).catch((cause: unknown) => {
    throw new Error(`${service} does not respond. The server's log: ${errors.join("\n")}`, { cause });
  });
  expect(await response.text(), message).toBe("app");
};

const expectServes = async ({ client, service, errors }: Started, message = ""): Promise<void> => {
  await expectResponds(service, errors, message);
  expect(
    (await client.list()).map(({ name }) => name),
    message,
  ).toEqual(["app"]);
};

test("the running version continues if the new process is killed at any step, and the next upgrade succeeds", async () => {
  using folder = folderWith();
  const served = await start(folder.path);
  /** The live instances, and the notes about instances. */
  const jobs = () => [
    ...new Set(marked(`${scopeOf(served.dataDir)}.`).map(({ instance }) => withoutScope(instance))),
    ...readdirSync(join(served.dataDir, "run")).sort(),
  ];
  await expectServes(served);
  const before = jobs();
  // At the last moment, the upgrade has completed.
  for (const moment of sampled(moments.slice(0, -1), 3)) {
    const message = JSON.stringify(moment);
    const { code, stderr } = await served.upgrade({ ...moment, target: "new", signal: "SIGKILL" });
    expect(stderr, message).toContain("the running version continues. The new process ended (SIGKILL)");
    expect(code, message).toBe(1);
    await expectServes(served, message);
    expect(jobs(), message).toEqual(before);
  }
  expect((await served.upgrade()).code).toBe(0);
  await expectServes(served);
}, 300_000);

test("a stop of the new process cancels the upgrade", async () => {
  using folder = folderWith();
  const served = await start(folder.path);
  for (const step of ["open", "lead"] as const) {
    const { stderr } = await served.upgrade({ step, when: "before", target: "new", signal: "SIGTERM" });
    expect(stderr).toContain("The new process ended (1)");
    await expectServes(served, step);
  }
});

/** The open files of a process: paths, and for example `socket:[INODE]`. */
const filesOf = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return [];
    }
  });

test("a new engine finds a data folder with a long path, and passes on neither sockets nor variables", async () => {
  using folder = folderWith();
  // Longer than the limit of a socket path.
  const served = await start(folder.path, "d".repeat(150));
  const { code, stderr } = await served.upgrade();
  expect(code, stderr).toBe(0);
  await expectServes(served);
  const engine = served.newPid();
  const sockets = filesOf(engine).filter((file) => file.startsWith("socket:"));
  expect(sockets.length).toBeGreaterThan(2);
  const children = descendantsOf(engine);
  expect(children.length).toBeGreaterThan(1);
  const server = serverOf(engine);
  for (const pid of children.filter((child) => child !== server))
    expect(filesOf(pid).filter((file) => sockets.includes(file))).toEqual([]);
  for (const pid of children) expect(readFileSync(`/proc/${pid}/environ`, "utf8")).not.toContain(SUCCESSOR);
});

/** Starts the platform on the data folder again, and expects a response of its service. */
const startAgain = async ({ dataDir, apiKey, options, service, engines }: Started): Promise<Started["client"]> => {
  const next = await serve(dataDir, options);
  engines.push(next.child.pid as number);
  await expectResponds(service, next.errors);
  return new Client(next.url, apiKey ?? "");
};

test.for(sampled(ends, 2))(
  "stopping the running process $when '$step' ends both, or only the replaced one",
  async (moment) => {
    using folder = folderWith();
    const served = await start(folder.path);
    const ended = once(served.child, "exit");
    const { code } = await served.upgrade({ ...moment, target: "running", signal: "SIGTERM" });
    expect(await ended).toEqual([0, null]);
    if (code === 0) return await expectServes(served);
    await expect.poll(() => isAlive(served.newPid())).toBe(false);
    const client = await startAgain(served);
    expect((await client.list()).map(({ name }) => name)).toEqual(["app"]);
  },
);

test.for(sampled(ends, 2))(
  "killing the running process $when '$step' ends the new one unless it leads",
  async (moment) => {
    using folder = folderWith();
    const served = await start(folder.path);
    await served.upgrade({ ...moment, target: "running", signal: "SIGKILL" });
    const pid = served.newPid();
    served.engines.push(pid);
    const serves = () =>
      served.client.list().then(
        () => true,
        () => false,
      );
    await expect.poll(async () => !isAlive(pid) || (await serves())).toBe(true);
    const leads = moment.step === "ready" || moment.step === "lead";
    if (isAlive(pid)) {
      expect(leads).toBe(true);
      return await expectServes(served);
    }
    // The channel can close while the new process takes the lead.
    expect(leads && moment.when === "after").toBe(false);
    const client = await startAgain(served);
    expect((await client.list()).map(({ name }) => name)).toEqual(["app"]);
  },
);
