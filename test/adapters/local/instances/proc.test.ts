/** Parses the texts of /proc, and reads this machine's own processes. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import {
  allProcesses,
  environmentOf,
  memoryOf,
  type ProcessInfo,
  parseSharedMappings,
  parseStat,
  processInfo,
  programOf,
  signalProcess,
  threadsOf,
  treeOf,
} from "../../../../adapters/local/instances/proc.ts";

/** The fields after the command's name: parent 7, group 8, session 9, 5 threads. */
const rest = (state: string) => `${state} 7 8 9 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 5 0 123456 1000 50 184467`;

test.each([
  ["a plain name", `42 (node) ${rest("S")}`],
  ["a name with spaces", `42 (tmux: server) ${rest("R")}`],
  ["a misleading name", `42 (x) R 1 1 1 (y) ${rest("D")}`],
  ["a name with a newline", `42 (a\nb) ${rest("I")}`],
  ["no name at all", `42 () ${rest("T")}`],
])("parses a process with %s", (_what, text) => {
  expect(parseStat(42, text)).toEqual({ pid: 42, parent: 7, session: 9, threads: 5 });
});

test.each(["Z", "X"])("returns undefined for a process in state %s", (state) => {
  expect(parseStat(42, `42 (node) ${rest(state)}`)).toBeUndefined();
});

describe("treeOf", () => {
  const one = (pid: number, parent: number): ProcessInfo => ({ pid, parent, session: 1, threads: 1 });

  test.each([
    ["returns only the root", [one(5, 1), one(6, 1)], [5]],
    ["returns children and their children", [one(8, 7), one(7, 5), one(5, 1), one(6, 5), one(9, 1)], [5, 7, 6, 8]],
    ["returns nothing if the root has ended", [one(7, 5)], []],
    ["terminates if pids were reused while the table was read", [one(5, 7), one(7, 5)], [5, 7]],
  ])("%s", (_what, table, tree) => {
    expect(treeOf(5, table)).toEqual(tree);
  });
});

describe("on this machine", () => {
  test("reads the parent, memory and name of this process", () => {
    expect(processInfo(process.pid)).toMatchObject({ pid: process.pid, parent: process.ppid });
    expect(allProcesses().map(({ pid }) => pid)).toContain(process.pid);
    expect(memoryOf(process.pid).own).toBeGreaterThan(10 * 1024 ** 2);
    expect(memoryOf(process.pid).own).toBeLessThan(process.memoryUsage().rss + 1024 ** 2);
    expect(programOf(process.pid)).not.toBe("");
    expect(threadsOf(process.getuid?.())).toBeGreaterThanOrEqual(processInfo(process.pid)?.threads ?? Number.NaN);
  });

  test("reads the environment that a child was started with", async () => {
    const child = spawn("sleep", ["60"], { env: { PATH: process.env["PATH"], MARK: "a b=c" } });
    await once(child, "spawn");
    await expect.poll(() => environmentOf(child.pid as number)).toContain("MARK=a b=c");
    signalProcess(child.pid as number, "SIGKILL");
    const [, signal] = await once(child, "exit");
    expect(signal).toBe("SIGKILL");
  });

  test("returns empty results for a missing process", () => {
    const gone = 2 ** 22 + 1;
    expect(processInfo(gone)).toBeUndefined();
    expect(memoryOf(gone)).toEqual({ own: 0, shared: 0 });
    expect(programOf(gone)).toBe("");
    expect(environmentOf(gone)).toEqual([""]);
    expect(() => signalProcess(gone, "SIGKILL")).not.toThrow();
  });
});

test("sums the shared mappings of a process, up to the end of each mapping", () => {
  const maps = [
    "7f0000000000-7f0000001000 rw-s 00fff000 00:01 41 /dev/zero (deleted)",
    "7f0000002000-7f0000004000 rw-s 00000000 00:01 42 /SYSV00000000 (deleted)",
    "7f0000005000-7f0000006000 r--s 00000000 00:01 43 /memfd:x (deleted)",
    "7f0000007000-7f0000009000 rw-p 00000000 00:01 44 /dev/zero (deleted)",
    "7f000000a000-7f000000b000 rw-s 00000000 fe:00 45 /data/file",
    "7f000000c000-7f000000d000 rw-p 00000000 00:00 0 ",
  ];
  expect([...parseSharedMappings(`${maps.join("\n")}\n`)]).toEqual([
    ["41", 0x1000000],
    ["42", 0x2000],
    ["43", 0x1000],
  ]);
});
