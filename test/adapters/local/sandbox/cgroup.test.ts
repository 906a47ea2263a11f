/** Limits by control groups: those of this machine for real, version 2 also against files that look like it. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { type ControlGroup, findControlGroups, groupFilesOf } from "../../../../adapters/local/sandbox/cgroup.ts";
import { runners } from "../../../support/providers/local-platform.ts";
import { createBench, type JobSetup, node, sh } from "../../../support/sandbox/jobs.ts";
import { needs } from "../../../support/vitest/machine.ts";

const MiB = 1024 ** 2;

describe.each(runners)("held by the kernel (%s)", (kind) => {
  const setup: JobSetup = { kind, limits: "cgroup" };

  test("memory: a process over the limit is ended, and that is told", async (context) => {
    needs(context, "cgroups");
    await using bench = await createBench(setup);
    const eater = node("const kept = []; for (;;) kept.push(Buffer.alloc(8 << 20, 1))");
    const exit = await bench.run(eater, { limits: { memory: 128 * MiB, cpu: 1, processes: 100 } });
    expect(exit).toMatchObject({ code: null, signal: "SIGKILL", outOfMemory: true });
  });

  test("processes: no more than the limit can be made", async (context) => {
    needs(context, "cgroups");
    await using bench = await createBench(setup);
    const { stdout } = await bench.run(
      sh("n=0; while [ $n -lt 60 ]; do (sleep 3 & echo made) 2>/dev/null; n=$((n+1)); done"),
      { limits: { memory: 128 * MiB, cpu: 1, processes: 20 } },
    );
    expect(stdout.length).toBeLessThan(60);
    expect(bench.survivors()).toEqual([]);
  });

  test("cpu: a busy loop gets its share and no more", async (context) => {
    needs(context, "cgroups");
    await using bench = await createBench(setup);
    const limits = { memory: 128 * MiB, cpu: 0.25, processes: 20 };
    const { running, said } = bench.start(sh("echo busy; while :; do :; done"), { limits });
    await said("busy");
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

/** Hundredths of a second of CPU time that the processes have used (proc(5)). */
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

/** The files of a version 2 mount that the engine looks at. */
const version2Tree = (offered = "cpuset cpu io memory pids"): string => {
  const root = mkdtempSync(join(tmpdir(), "portside-cgroup2-"));
  roots.push(root);
  writeFileSync(join(root, "cgroup.controllers"), `${offered}\n`);
  writeFileSync(join(root, "cgroup.subtree_control"), "");
  return root;
};

test("the groups of a process are found by it, where Portside made them", async (context) => {
  needs(context, "cgroups");
  await using bench = await createBench({ kind: "process", limits: "cgroup" });
  const { running, said } = bench.start(sh("echo up; exec sleep 60"));
  await said("up");
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

  test("a group gets its limits, and its controllers are handed down first", () => {
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
  });

  test("swap is closed where the kernel counts it", () => {
    const mount = version2Tree();
    const groups = findControlGroups("portside-x", mount);
    const folder = join(mount, "portside-x", "one");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "memory.swap.max"), "max");
    groups?.create("one", limits);
    expect(readFileSync(join(folder, "memory.swap.max"), "utf8")).toBe("0");
  });

  test("it tells its processes, and whether memory ended one", () => {
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

  test("removing takes the folders away, sweeping also those of an earlier server", async () => {
    const mount = version2Tree();
    const groups = findControlGroups("portside-x", mount);
    // As in a real tree, folders go by rmdir alone, with what the kernel keeps in them.
    const earlier = join(mount, "portside-x", "earlier");
    mkdirSync(earlier, { recursive: true });
    await groups?.sweep();
    expect(existsSync(earlier)).toBe(false);
    expect(readdirSync(mount).filter((name) => name.startsWith("portside"))).toEqual([]);
    await groups?.sweep();
  });

  /** A mount that belongs to root, and a group in it that a service manager has handed to this process. */
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

  test("a group that is handed to the server holds the limits, and the server leaves it for one below", () => {
    const { mount, group, self } = delegatedTree();
    const groups = findControlGroups("portside-x", mount, self);
    expect(groups?.version).toBe(2);
    expect(readFileSync(join(group, "supervisor", "cgroup.procs"), "utf8")).toBe(String(process.pid));
    expect(readFileSync(join(group, "cgroup.subtree_control"), "utf8")).toBe("+memory +cpu +pids");
    groups?.create("one", limits);
    expect(readFileSync(join(group, "portside-x", "one", "pids.max"), "utf8")).toBe("77");
    // The same process again, which is below by now.
    writeFileSync(self, "0::/user.slice/portside.service/supervisor\n");
    expect(findControlGroups("portside-x", mount, self)?.version).toBe(2);
    expect(existsSync(join(group, "supervisor", "supervisor"))).toBe(false);
  });

  test("a group that others share stays as it was, and the server stays in it", () => {
    const { mount, group, self } = delegatedTree();
    rmSync(join(group, "cgroup.subtree_control"));
    // Refuses to be written, as the kernel does while the group has processes.
    mkdirSync(join(group, "cgroup.subtree_control"));
    expect(findControlGroups("portside-x", mount, self)).toBeUndefined();
    expect(readFileSync(join(group, "cgroup.procs"), "utf8")).toBe(String(process.pid));
  });

  test.each([
    ["the memory controller is not offered", () => version2Tree("cpuset cpu io pids")],
    ["nothing is mounted there", () => join(version2Tree(), "nowhere")],
  ])("there are none where %s", (_why, mount) => {
    expect(findControlGroups("portside-x", mount(), "/no/such/file")).toBeUndefined();
  });
});
