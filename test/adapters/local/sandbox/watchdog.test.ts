/** Limits without control groups: the watchdog, and the resource limits as a backstop. */
import { describe, expect, test } from "vitest";
import { describeExit } from "../../../../adapters/local/instances/describe-exit.ts";
import { findControlGroups } from "../../../../adapters/local/sandbox/cgroup.ts";
import { runners } from "../../../support/providers/local-platform.ts";
import { createBench, type JobSetup, node, sh } from "../../../support/sandbox/jobs.ts";

const MiB = 1024 ** 2;
const limits = { memory: 128 * MiB, cpu: 1, processes: 60 };

test("finds no control groups where none are mounted", () => {
  expect(findControlGroups("portside-x", "/no/such/mount")).toBeUndefined();
});

describe.each(runners)("%s", (kind) => {
  const setup: JobSetup = { kind, limits: "watchdog" };
  const eat = `const kept = []; setInterval(() => kept.push(Buffer.alloc(16 << 20, 1)), 20);`;

  test("ends and reports a process over its memory limit", async () => {
    await using bench = await createBench(setup);
    const exit = await bench.run(node(eat), { limits });
    expect(exit).toMatchObject({ signal: "SIGKILL", outOfMemory: true });
  });

  test("counts the memory of the whole tree, whatever the names of its processes", async () => {
    await using bench = await createBench(setup);
    // Each process is far below the limit. Its name is the same as that of the sandbox's own processes.
    const piece = `process.title = "bwrap"; let kept;
      setTimeout(() => { kept = Buffer.alloc(60 << 20, 1); }, 1500); setInterval(() => kept, 1000)`;
    const tree = `for (let n = 0; n < 3; n++) require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(piece)}]);`;
    const exit = await bench.run(node(tree), { limits: { ...limits, memory: 160 * MiB } });
    expect(exit).toMatchObject({ outOfMemory: true });
    expect(bench.survivors()).toEqual([]);
  });

  test("reports out_of_memory for a process whose allocation was refused between two polls", async () => {
    await using bench = await createBench(setup);
    // The process uses none of the memory, so the watchdog cannot see it.
    const exit = await bench.run(node("Buffer.alloc(1300 << 20)"), { limits });
    expect(exit).toMatchObject({ code: 1, outOfMemory: false, dataLimited: true });
    expect(describeExit(exit, limits.memory, exit.stderr)).toMatchObject({ reason: "out_of_memory" });
  });

  test("does not end a process within its limit", async () => {
    await using bench = await createBench(setup);
    const exit = await bench.run(node("const kept = Buffer.alloc(40 << 20, 1); setTimeout(() => kept, 700)"), {
      limits,
    });
    expect(exit).toMatchObject({ code: 0, outOfMemory: false });
  });

  test("ends a command that forks endlessly", async () => {
    await using bench = await createBench(setup);
    const exit = await bench.run(sh("bomb() { while :; do sleep 100 & done; }; bomb"), { limits });
    expect(exit.code).not.toBe(0);
    expect(exit.outOfMemory).toBe(false);
    expect(bench.survivors()).toEqual([]);
  });

  test("a command that forks endlessly does not prevent its neighbours from forking", async () => {
    await using bench = await createBench(setup);
    const many = { limits: { ...limits, processes: 200 } };
    const neighbour = bench.start(sh("echo up; n=0; while [ $n -lt 40 ]; do sleep 0.05; n=$((n+1)); done"), many);
    await neighbour.printed("up");
    // The command ignores failed forks, so the watchdog has seconds to notice it, even on a busy machine.
    const bomb = `const { spawn } = require("child_process");
      setInterval(() => { for (let n = 0; n < 4; n++) spawn("sleep", ["100"]).on("error", () => {}); }, 20);`;
    const exit = await bench.run(node(bomb), many);
    expect(exit).toMatchObject({ signal: "SIGKILL", outOfMemory: false });
    expect(await neighbour.running.exited).toMatchObject({ code: 0 });
    expect(bench.survivors()).toEqual([]);
  });

  test("limits the data segment to the memory limit plus 1 GiB", async () => {
    await using bench = await createBench(setup);
    const { stdout } = await bench.run(sh("ulimit -d"), { limits });
    expect(stdout).toEqual([String((128 * MiB + 1024 ** 3) / 1024)]);
  });
});
