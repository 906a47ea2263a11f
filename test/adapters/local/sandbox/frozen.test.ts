/** Frozen commands do not run, keep their memory, continue after a thaw, and end like others. */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { killOrphans } from "../../../../adapters/local/sandbox/launch.ts";
import { stopRunning } from "../../../../adapters/local/sandbox/runner.ts";
import { tryOr } from "../../../../adapters/shared/runtime/try-or.ts";
import { createBench, jobSetups, markedProcesses, node, type Started, sh } from "../../../support/sandbox/jobs.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

/** Prints a line every 10 ms, in three processes: the command, a child, and a daemon in a new session. */
const ticks = node(`
const { spawn } = require("node:child_process");
const tick = (name) => "setInterval(() => console.log('" + name + "'), 10)";
for (const [name, detached] of [["child", false], ["daemon", true]])
  spawn(process.execPath, ["-e", tick(name)], { stdio: "inherit", detached }).unref();
process.on("SIGTERM", () => { console.log("ended"); process.exit(3); });
eval(tick("main"));
`);

const names = ["main", "child", "daemon"];
const countOf = ({ stdout }: Started) => names.map((name) => stdout.filter((line) => line === name).length);
const allTick = async (started: Started) => {
  const before = countOf(started);
  await eventually(() => {
    for (const [index, count] of countOf(started).entries()) expect(count).toBeGreaterThan((before[index] ?? 0) + 2);
  });
};

/** The state letters of the processes (proc(5)). */
const statesOf = (pids: readonly number[]): string[] =>
  pids.map((pid) => tryOr(() => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.slice(0, 1), "") ?? "");

describe.each(jobSetups)("$kind, limits by $limits", (setup) => {
  test("runs no process while frozen, and continues all of them after a thaw", async () => {
    await using bench = await createBench(setup);
    const started = bench.start(ticks);
    await allTick(started);
    const { running } = started;
    await running.freeze();
    // The platform may still read lines that the processes printed before.
    await sleep(100);
    const frozen = countOf(started);
    expect(running.memory()).toBeGreaterThan(10_000_000);
    await sleep(200);
    expect(countOf(started)).toEqual(frozen);
    await running.thaw();
    await allTick(started);
    running.kill();
    await running.exited;
  });

  test("freezes processes that continuously start others", async () => {
    await using bench = await createBench(setup);
    const { running, printed } = bench.start(sh("echo up; while :; do sleep 0.002; (sleep 0.01 &); done"));
    await printed("up");
    for (let round = 0; round < 5; round++) {
      await running.freeze();
      const pids = running.processes();
      expect(pids.length).toBeGreaterThan(0);
      // Besides stopped processes there can be zombies, and parents that wait in vfork(2) for a stopped child.
      await eventually(() => expect(statesOf(pids).filter((state) => ["R", "S"].includes(state))).toEqual([]));
      await sleep(50);
      expect(running.processes().filter((pid) => !pids.includes(pid))).toEqual([]);
      await running.thaw();
    }
    running.kill();
    await running.exited;
    expect(bench.survivors()).toEqual([]);
  });

  test("stops by SIGTERM while frozen", async () => {
    await using bench = await createBench(setup);
    const started = bench.start(ticks);
    await allTick(started);
    await started.running.freeze();
    expect(await stopRunning(started.running, 60_000)).toMatchObject({ code: 3 });
    expect(started.stdout).toContain("ended");
    expect(bench.survivors()).toEqual([]);
  });

  test("leaves no process after a kill while frozen", async () => {
    await using bench = await createBench(setup);
    const started = bench.start(ticks);
    await allTick(started);
    await started.running.freeze();
    started.running.kill();
    expect(await started.running.exited).toMatchObject({ signal: "SIGKILL", outOfMemory: false });
    expect(bench.survivors()).toEqual([]);
    await started.running.thaw();
  });

  test("ends with its server's other orphans if the server died while it was frozen", async () => {
    await using bench = await createBench(setup);
    const started = bench.start(ticks);
    await allTick(started);
    await started.running.freeze();
    await killOrphans(bench.scope);
    expect(bench.survivors()).toEqual([]);
    await started.running.exited;
  });

  test("reports the exit of a frozen command that another program kills", async () => {
    await using bench = await createBench(setup);
    const { running, printed } = bench.start(sh("echo up; exec sleep 60"));
    await printed("up");
    await running.freeze();
    for (const pid of running.processes()) process.kill(pid, "SIGKILL");
    expect(await running.exited).toMatchObject({ outOfMemory: false });
    expect(markedProcesses(`${bench.scope}.`)).toEqual([]);
  });
});
