/** An engine opens a data folder that another engine uses, and replaces it. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { killOrphans } from "../../../../adapters/local/sandbox/launch.ts";
import { withoutScope } from "../../../../adapters/local/sandbox/scope.ts";
import { lockDataDir } from "../../../../adapters/local/state/lock-data-dir.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { scopeOf } from "../../../support/crashes/crash-check.ts";
import { runners, startLocalIn } from "../../../support/providers/local-platform.ts";
import { marked } from "../../../support/sandbox/jobs.ts";

const script = new URL("../../../support/providers/engine-process.ts", import.meta.url).pathname;

let dataDir: string;
const children: ChildProcess[] = [];
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "portside-successor-"));
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  await killOrphans(scopeOf(dataDir));
  rmSync(dataDir, { recursive: true, force: true });
});

/** The ids of the live jobs of the folder's engines. */
const jobs = (): string[] => [...new Set(marked(`${scopeOf(dataDir)}.`).map(({ instance }) => instance))].sort();

/** The jobs with a note in the folder. */
const noted = (): string[] =>
  readdirSync(join(dataDir, "run"))
    .filter((name) => name.endsWith(".instance"))
    .map((name) => `${scopeOf(dataDir)}.${name.replace(".instance", "")}`)
    .sort();

/** The notes and home folders of jobs. */
const filesOf = (all: readonly string[]): string[] =>
  readdirSync(join(dataDir, "run")).filter((name) => all.some((job) => name.startsWith(withoutScope(job))));

const expectInUse = (): void => {
  expect(() => lockDataDir(dataDir)).toThrow("Another Portside server uses the data folder");
};

describe.each(runners)("%s", (runner) => {
  /** @param running the description of the engine to replace */
  const open = async (running?: unknown) => {
    const child = fork(script, [dataDir, runner, ...(running === undefined ? [] : [JSON.stringify(running)])]);
    children.push(child);
    const [ready] = await once(child, "message");
    expect(ready).toBe("ready");
    const tell = async (command: string, input?: unknown): Promise<unknown> => {
      child.send([command, input]);
      return (await once(child, "message"))[0];
    };
    const kill = async (): Promise<void> => {
      child.kill("SIGKILL");
      await once(child, "exit");
    };
    return { tell, kill };
  };

  const openBoth = async () => {
    {
      await using platform = await startLocalIn(dataDir, { runner });
      await platform.up(nodeSource(helloServer("app")));
    }
    const first = await open();
    const before = jobs();
    expect(before.length).toBe(1);
    writeFileSync(join(dataDir, "storage", "uploads", "unfinished"), "");
    const second = await open(await first.tell("describe"));
    const [added, ...more] = jobs().filter((job) => !before.includes(job));
    expect(more).toEqual([]);
    expect(jobs()).toEqual([...before, added].sort());
    expect(noted()).toEqual(jobs());
    expect(readdirSync(join(dataDir, "storage", "uploads"))).toEqual(["unfinished"]);
    expectInUse();
    return { first, second, before, after: [added as string] };
  };

  test("the successor takes the folder and keeps its instances when the first engine ends", async () => {
    const { first, second, after } = await openBoth();
    const handover = await first.tell("release");
    expectInUse();
    await second.tell("lead", handover);
    expectInUse();
    await first.tell("close");
    expect(jobs()).toEqual(after);
    expect(noted()).toEqual(after);
    expectInUse();
    await second.tell("close");
    expect(jobs()).toEqual([]);
    lockDataDir(dataDir).release();
  });

  test("the first engine keeps the folder and its instances when the successor is abandoned", async () => {
    const { first, second, before } = await openBoth();
    await second.tell("close");
    expect(jobs()).toEqual(before);
    expect(noted()).toEqual(before);
    expectInUse();
    await first.tell("close");
    expect(jobs()).toEqual([]);
  });

  test("the successor removes what a killed engine left behind", async () => {
    const { first, second, before, after } = await openBoth();
    expect(filesOf(before)).not.toEqual([]);
    const handover = await first.tell("release");
    await first.kill();
    await second.tell("lead", handover);
    await expect.poll(() => filesOf(before)).toEqual([]);
    await expect.poll(jobs).toEqual(after);
    expect(noted()).toEqual(after);
    await expect.poll(() => readdirSync(join(dataDir, "sandbox", "leftovers"))).toEqual([]);
    expectInUse();
  });

  test("the next start removes what two killed engines left behind", async () => {
    const { first, second, before, after } = await openBoth();
    await Promise.all([second.kill(), first.kill()]);
    const next = await open();
    expect(jobs().filter((job) => [...before, ...after].includes(job))).toEqual([]);
    expect(noted()).toEqual(jobs());
    await next.tell("close");
    expect(jobs()).toEqual([]);
  });
});
