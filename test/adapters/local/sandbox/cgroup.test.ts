/** Limits by control groups: with this machine's groups, and with files that imitate version 2. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { getPriority, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { type ControlGroup, findControlGroups, groupFilesOf } from "../../../../adapters/local/sandbox/cgroup.ts";
import { runners } from "../../../support/providers/local-platform.ts";
import { createBench, type JobSetup, node, sh } from "../../../support/sandbox/jobs.ts";
import { needs } from "../../../support/vitest/machine.ts";

const MiB = 1024 ** 2;

describe.each(runners)("limits enforced by the kernel (%s)", (kind) => {
  const setup: JobSetup = { kind, limits: "cgroup" };

  test("memory: a process over the limit is killed and reported", async (context) => {
    needs(context, "cgroups");
    await using bench = await createBench(setup);
    const eater = node("const kept = []; for (;;) kept.push(Buffer.alloc(8 << 20, 1))");
    const exit = await bench.run(eater, { limits: { memory: 128 * MiB, cpu: 1, processes: 100 } });
    expect(exit).toMatchObject({ code: null, signal: "SIGKILL", outOfMemory: true });
  });

  test("processes: creating more than the limit fails", async (context) => {
    needs(context, "cgroups");
    await using bench = await createBench(setup);
    const { stdout } = await bench.run(
      sh("n=0; while [ $n -lt 60 ]; do (sleep 3 & echo made) 2>/dev/null; n=$((n+1)); done"),
      { limits: { memory: 128 * MiB, cpu: 1, processes: 20 } },
    );
    expect(stdout.length).toBeLessThan(60);
    expect(bench.survivors()).toEqual([]);
  });

  test("cpu: a busy loop gets only its share", async (context) => {
    needs(context, "cgroups");
    await using bench = await createBench(setup);
    const limits = { memory: 128 * MiB, cpu: 0.25, processes: 20 };
    const { running, printed } = bench.start(sh("echo busy; while :; do :; done"), { limits });
    await printed("busy");
    const [usedBefore, begun] = [ticksOf(running.processes()), Date.now()];
    await sleep(1500);
    const used = (ticksOf(running.processes()) - usedBefore) * 10;
    const share = used / (Date.now() - begun);
    running.kill();
    await running.exited;
    expect(share).toBeGreaterThan(0);
    expect(share).toBeLessThan(0.5);
  });
});

/** Prints its priority and that of a child. The platform sets the priority a moment after the start. */
const PRINT_PRIORITY = node(`
  const { execFileSync } = require("child_process");
  const priority = "require('os').getPriority()";
  const print = () => console.log(eval(priority), execFileSync(process.execPath, ["-p", priority]).toString());
  setTimeout(print, 2000);
`);

test.for(runners)("%s: a command that yields CPU time has a lower priority, and so have its children", async (kind) => {
  await using bench = await createBench({ kind, limits: "watchdog" });
  const limits = { memory: 256 * MiB, cpu: 1, processes: 100 };
  const priorities = async (yieldsCpu: boolean) =>
    (await bench.run(PRINT_PRIORITY, { limits: { ...limits, yieldsCpu } })).stdout.join(" ").trim().split(/\s+/);
  const own = getPriority();
  const lower = String(Math.min(19, own + 5));
  expect(await priorities(true)).toEqual([lower, lower]);
  expect(await priorities(false)).toEqual([String(own), String(own)]);
});

test("a group that yields CPU time has a quarter of the share of the others", async (context) => {
  needs(context, "cgroups");
  await using bench = await createBench({ kind: "process", limits: "cgroup" });
  const shareOf = async (yieldsCpu: boolean) => {
    const limits = { memory: 256 * MiB, cpu: 1, processes: 100, yieldsCpu };
    const { running, printed } = bench.start(sh("echo up; exec sleep 60"), { limits });
    await printed("up");
    const [pid = 0] = running.processes();
    const folders = groupFilesOf(pid).map((file) => dirname(file));
    const file = folders.flatMap((folder) => [join(folder, "cpu.shares"), join(folder, "cpu.weight")]).find(existsSync);
    const share = Number(readFileSync(file as string, "utf8"));
    running.kill();
    await running.exited;
    return share;
  };
  expect(await shareOf(true)).toBe((await shareOf(false)) / 4);
});

/** CPU time of the processes in hundredths of a second (proc(5)). */
const ticksOf = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return sum + Number(fields[11]) + Number(fields[12]);
  }, 0);

const GiB = 1024 * MiB;
const roots: string[] = [];
afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true, force: true });
});

/** The files of a version 2 mount that the platform reads. */
const version2Tree = (offered = "cpuset cpu io memory pids"): string => {
  const root = mkdtempSync(join(tmpdir(), "portside-cgroup2-"));
  roots.push(root);
  writeFileSync(join(root, "cgroup.controllers"), `${offered}\n`);
  writeFileSync(join(root, "cgroup.subtree_control"), "");
  return root;
};

test("finds the Portside groups of a process", async (context) => {
  needs(context, "cgroups");
  await using bench = await createBench({ kind: "process", limits: "cgroup" });
  const { running, printed } = bench.start(sh("echo up; exec sleep 60"));
  await printed("up");
  const [pid = 0] = running.processes();
  const files = groupFilesOf(pid);
  expect(files.length).toBeGreaterThan(0);
  for (const file of files) expect(readFileSync(file, "utf8").split("\n")).toContain(String(pid));
  expect(groupFilesOf(process.pid)).toEqual([]);
  running.kill();
  await running.exited;
});

describe("version 2, as files", () => {
  const limits = { memory: 2 * GiB, cpu: 3, processes: 77 };

  test("creates a group with its limits after delegating the controllers", () => {
    const mount = version2Tree();
    const groups = findControlGroups("portside-x", mount);
    expect(groups?.version).toBe(2);
    const group = groups?.create("scope.one", limits) as ControlGroup;
    const at = (...parts: string[]) => readFileSync(join(mount, ...parts), "utf8");
    expect(at("cgroup.subtree_control")).toBe("+memory +cpu +pids");
    expect(at("portside-x", "cgroup.subtree_control")).toBe("+memory +cpu +pids");
    expect(at("portside-x", "scope.one", "memory.max")).toBe(String(2 * GiB));
    expect(at("portside-x", "scope.one", "cpu.max")).toBe("300000 100000");
    expect(at("portside-x", "scope.one", "pids.max")).toBe("77");
    expect(group.joinFiles).toEqual([join(mount, "portside-x", "scope.one", "cgroup.procs")]);
    groups?.create("scope.two", { ...limits, yieldsCpu: true });
    expect(at("portside-x", "scope.two", "cpu.weight")).toBe("25");
  });

  test("disables swap if the kernel counts it", () => {
    const mount = version2Tree();
    const groups = findControlGroups("portside-x", mount);
    const folder = join(mount, "portside-x", "one");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "memory.swap.max"), "max");
    groups?.create("one", limits);
    expect(readFileSync(join(folder, "memory.swap.max"), "utf8")).toBe("0");
  });

  test("lists its processes, and reports whether the kernel killed one for memory", () => {
    const mount = version2Tree();
    const group = findControlGroups("portside-x", mount)?.create("one", limits) as ControlGroup;
    const folder = join(mount, "portside-x", "one");
    expect(group.processes()).toEqual([]);
    expect(group.outOfMemory()).toBe(false);
    writeFileSync(join(folder, "cgroup.procs"), "12\n345\n");
    expect(group.processes()).toEqual([12, 345]);
    writeFileSync(join(folder, "memory.events"), "low 0\nhigh 0\nmax 9\noom 1\noom_kill 0\n");
    expect(group.outOfMemory()).toBe(false);
    writeFileSync(join(folder, "memory.events"), "low 0\nhigh 0\nmax 9\noom 2\noom_kill 1\n");
    expect(group.outOfMemory()).toBe(true);
  });

  test("freezes and thaws its processes by the kernel's freezer", () => {
    const mount = version2Tree();
    const group = findControlGroups("portside-x", mount)?.create("one", limits) as ControlGroup;
    const written = () => readFileSync(join(mount, "portside-x", "one", "cgroup.freeze"), "utf8");
    group.freezer?.freeze();
    expect(written()).toBe("1");
    group.freezer?.thaw();
    expect(written()).toBe("0");
  });

  test("removes the groups of an earlier server, and the folder of the scope once it is empty", async () => {
    const mount = version2Tree();
    const groups = findControlGroups("portside-x", mount);
    // As in a real tree, only rmdir removes folders, together with the kernel's files in them.
    const earlier = join(mount, "portside-x", "earlier");
    mkdirSync(earlier, { recursive: true });
    const other = join(mount, "portside-x", "other");
    mkdirSync(other);
    await groups?.sweep((id) => id === "earlier");
    expect(existsSync(earlier)).toBe(false);
    groups?.close();
    expect(existsSync(other)).toBe(true);
    await groups?.sweep();
    groups?.close();
    expect(readdirSync(mount).filter((name) => name.startsWith("portside"))).toEqual([]);
    await groups?.sweep();
    groups?.close();
  });

  /** A mount that belongs to root, and a group in it that a service manager delegated to this process. */
  const delegatedTree = () => {
    const mount = version2Tree("memory");
    const group = join(mount, "user.slice", "portside.service");
    mkdirSync(group, { recursive: true });
    writeFileSync(join(group, "cgroup.controllers"), "cpu memory pids\n");
    for (const name of ["cgroup.subtree_control", "cgroup.procs"]) writeFileSync(join(group, name), "");
    const self = join(mount, "self");
    writeFileSync(self, "1:name=systemd:/elsewhere\n0::/user.slice/portside.service\n");
    return { mount, group, self };
  };

  test("uses a delegated group for limits, and moves the server to a subgroup", () => {
    const { mount, group, self } = delegatedTree();
    const groups = findControlGroups("portside-x", mount, self);
    expect(groups?.version).toBe(2);
    expect(readFileSync(join(group, "supervisor", "cgroup.procs"), "utf8")).toBe(String(process.pid));
    expect(readFileSync(join(group, "cgroup.subtree_control"), "utf8")).toBe("+memory +cpu +pids");
    groups?.create("one", limits);
    expect(readFileSync(join(group, "portside-x", "one", "pids.max"), "utf8")).toBe("77");
    // The same process again, now in the subgroup.
    writeFileSync(self, "0::/user.slice/portside.service/supervisor\n");
    expect(findControlGroups("portside-x", mount, self)?.version).toBe(2);
    expect(existsSync(join(group, "supervisor", "supervisor"))).toBe(false);
  });

  test("leaves a group with other processes unchanged, and stays in it", () => {
    const { mount, group, self } = delegatedTree();
    rmSync(join(group, "cgroup.subtree_control"));
    // Makes writes fail, because the kernel rejects them while the group has processes.
    mkdirSync(join(group, "cgroup.subtree_control"));
    expect(findControlGroups("portside-x", mount, self)).toBeUndefined();
    expect(readFileSync(join(group, "cgroup.procs"), "utf8")).toBe(String(process.pid));
  });

  test.each([
    ["the memory controller is missing", () => version2Tree("cpuset cpu io pids")],
    ["nothing is mounted", () => join(version2Tree(), "nowhere")],
  ])("returns undefined if %s", (_why, mount) => {
    expect(findControlGroups("portside-x", mount(), "/no/such/file")).toBeUndefined();
  });
});
