/** Two processes with one scope, as during an upgrade: each ends only its own jobs. */
import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findControlGroups } from "../../../../adapters/local/sandbox/cgroup.ts";
import { killOrphans } from "../../../../adapters/local/sandbox/launch.ts";
import { whyNoNetworks } from "../../../../adapters/local/sandbox/network/networks.ts";
import { joinScope, takeScope } from "../../../../adapters/local/sandbox/scope.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";
import { runners } from "../../../support/providers/local-platform.ts";
import { markedProcesses } from "../../../support/sandbox/jobs.ts";
import { networksOf } from "../../../support/sandbox/sandbox-networks.ts";
import { needs } from "../../../support/vitest/machine.ts";

const script = new URL("../../../support/sandbox/scope-process.ts", import.meta.url).pathname;
const lacking = await whyNoNetworks("test");
const hasGroups = findControlGroups("portside-probe") !== undefined;

let scope: string;
let folder: string;
const children: ChildProcess[] = [];
beforeEach(async () => {
  scope = `test${randomUUID().replaceAll("-", "").slice(0, 12)}`;
  folder = await mkdtemp(join(tmpdir(), "portside-scope-"));
  await chmod(folder, 0o755);
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  await killOrphans(scope);
  const groups = findControlGroups(`portside-${scope}`);
  await groups?.sweep();
  groups?.close();
  await rm(folder, { recursive: true, force: true });
});

/** The ids of the jobs that have a control group. */
const groupsOf = (prefix: string): string[] =>
  ["", "memory", "cpu", "pids"]
    .map((controller) => join("/sys/fs/cgroup", controller, `portside-${scope}`))
    .filter((path) => existsSync(path))
    .flatMap((path) => readdirSync(path))
    .filter((name) => name.startsWith(prefix));

const hasRootGroup = (): boolean =>
  ["", "memory"].some((controller) => existsSync(join("/sys/fs/cgroup", controller, `portside-${scope}`)));

const open = async (role: "first" | "second", kind: string) => {
  const child = fork(script, [role, scope, kind, folder], {
    // Only containers need an engine.
    env: { ...process.env, DOCKER_HOST: "unix:///none" },
  });
  children.push(child);
  const [{ mark }] = (await once(child, "message")) as [{ mark: string }];
  const run = async (command: string): Promise<void> => {
    child.send(command);
    expect((await once(child, "message"))[0]).toEqual({ [command]: "done" });
  };
  return {
    mark,
    start: () => run("start"),
    escape: () => run("escape"),
    /** Resolves when the process is the only one of its scope and has ended the jobs of others. */
    alone: () => run("alone"),
    close: async (): Promise<void> => {
      child.send("close");
      await once(child, "exit");
      expect(child.exitCode).toBe(0);
    },
    kill: async (): Promise<void> => {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
};

describe.each(runners)("%s", (kind) => {
  beforeEach((context) => {
    if (kind === "bubblewrap") needs(context, "python");
    if (kind === "bubblewrap" && lacking !== undefined) context.skip(lacking);
  });

  const expectAlive = (mark: string): void => {
    expect(markedProcesses(`${mark}.`).length).toBeGreaterThan(0);
    if (hasGroups) expect(groupsOf(`${mark}.`).length).toBeGreaterThan(0);
    if (kind === "bubblewrap") expect(networksOf(mark).size).toBeGreaterThan(0);
  };

  const expectGone = (mark: string): void => {
    expect(markedProcesses(`${mark}.`)).toEqual([]);
    expect(groupsOf(`${mark}.`)).toEqual([]);
    expect([...networksOf(mark).keys()]).toEqual([]);
  };

  const openBoth = async () => {
    const first = await open("first", kind);
    await first.start();
    const second = await open("second", kind);
    expectAlive(first.mark);
    await second.start();
    expectAlive(first.mark);
    expectAlive(second.mark);
    return { first, second };
  };

  test("the first one ends only its own jobs, and the second one removes what they shared", async () => {
    const { first, second } = await openBoth();
    await first.close();
    expectGone(first.mark);
    expectAlive(second.mark);
    await second.alone();
    expectAlive(second.mark);
    await second.close();
    expectGone(second.mark);
    expect(hasRootGroup()).toBe(false);
  });

  test("the second one ends only its own jobs if the upgrade is abandoned", async () => {
    const { first, second } = await openBoth();
    await second.close();
    expectGone(second.mark);
    expectAlive(first.mark);
    await first.close();
    expectGone(first.mark);
    expect(hasRootGroup()).toBe(false);
  });

  test("if the first one is killed, the second one ends the orphans and keeps its own jobs", async () => {
    const { first, second } = await openBoth();
    await first.escape();
    await second.escape();
    await first.kill();
    await second.alone();
    expectGone(first.mark);
    expectAlive(second.mark);
    await second.close();
    expect(hasRootGroup()).toBe(false);
    expect(markedProcesses(`${second.mark}.`).length).toBe(1);
  });

  test("if both are killed, the next start ends the orphans of both", async () => {
    const { first, second } = await openBoth();
    await first.escape();
    await second.escape();
    await Promise.all([second.kill(), first.kill()]);
    const next = await open("first", kind);
    expectGone(first.mark);
    expectGone(second.mark);
    await next.close();
    expect(hasRootGroup()).toBe(false);
  });
});

describe("the name of the scope", () => {
  beforeEach((context) => {
    if (process.platform !== "linux") context.skip("only Linux has abstract sockets");
  });

  /** Returns the name of the scope that a server on a copy of the data folder gets. */
  const nameOfCopy = async (): Promise<string> => {
    const copy = await takeScope({ get: () => scope, set: () => undefined }, tmpdir(), silentLogger);
    await copy.release();
    return copy.name;
  };

  test("is never given to a copy while one of the two engines runs", async () => {
    const first = await takeScope({ get: () => scope, set: () => undefined }, folder, silentLogger);
    expect(first.name).toBe(scope);
    const second = await joinScope(scope, folder, silentLogger);
    const alone = Promise.withResolvers<void>();
    second.whenAlone(async () => {
      await alone.promise;
    });
    expect(await nameOfCopy()).not.toBe(scope);
    await first.release();
    for (let n = 0; n < 50; n++) expect(await nameOfCopy()).not.toBe(scope);
    alone.resolve();
    for (let n = 0; n < 50; n++) expect(await nameOfCopy()).not.toBe(scope);
    await second.release();
    expect(await nameOfCopy()).toBe(scope);
  });

  test("is joined by a third engine only after the first has ended", async () => {
    const first = await takeScope({ get: () => scope, set: () => undefined }, folder, silentLogger);
    const second = await joinScope(scope, folder, silentLogger);
    const alone = Promise.withResolvers<void>();
    second.whenAlone(async () => alone.resolve());
    await expect(joinScope(scope, folder, silentLogger)).rejects.toThrow("An earlier upgrade is still in progress");
    await first.release();
    await alone.promise;
    const join = async () => {
      await (await joinScope(scope, folder, silentLogger)).release();
      return "joined";
    };
    await expect.poll(() => join().catch(() => "refused")).toBe("joined");
    await second.release();
  });

  test("is given to the next start on the folder once the previous engine has ended", async () => {
    const first = await takeScope({ get: () => scope, set: () => undefined }, folder, silentLogger);
    let next: string | undefined;
    const waiting = takeScope({ get: () => scope, set: () => undefined }, folder, silentLogger).then((taken) => {
      next = taken.name;
      return taken;
    });
    for (let n = 0; n < 20; n++) expect(await nameOfCopy()).not.toBe(scope);
    expect(next).toBeUndefined();
    await first.release();
    expect((await waiting).name).toBe(scope);
    await (await waiting).release();
  });

  test("is free after an abandoned upgrade", async () => {
    const first = await takeScope({ get: () => scope, set: () => undefined }, folder, silentLogger);
    const second = await joinScope(scope, folder, silentLogger);
    second.whenAlone(async () => undefined);
    await second.release();
    await (await joinScope(scope, folder, silentLogger)).release();
    await first.release();
    expect(await nameOfCopy()).toBe(scope);
  });
});
