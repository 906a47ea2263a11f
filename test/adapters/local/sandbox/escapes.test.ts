/** No command can evade the limits of its sandbox or of another one. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { groupFilesOf } from "../../../../adapters/local/sandbox/cgroup.ts";
import {
  attack,
  escapeLimits as limits,
  memoryEscapes,
  processEscapes,
  rightEscapes,
  socketEscape,
} from "../../../support/sandbox/escapes.ts";
import { createBench, sandboxSetups, sh } from "../../../support/sandbox/jobs.ts";
import { needs } from "../../../support/vitest/machine.ts";

beforeEach((context) => needs(context, "bubblewrap", "python"));

const readOr = (path: string): string => {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
};

const LIMIT_FILES = ["memory.limit_in_bytes", "memory.max", "pids.max", "cpu.cfs_quota_us", "cpu.max"];

/** The limits of a process's groups, from the kernel. */
const limitsOf = (pid: number): string[] =>
  groupFilesOf(pid).flatMap((file) => LIMIT_FILES.map((name) => `${name} ${readOr(join(dirname(file), name))}`));

describe.each(sandboxSetups)("with $limits", (setup) => {
  const kernelCounts = setup.limits === "cgroup";
  const memory = { ...memoryEscapes, ...(kernelCounts ? { "data in sockets": socketEscape } : {}) };

  test.each(Object.entries({ ...memory, ...processEscapes }))("%s", async (_name, script) => {
    await using bench = await createBench(setup);
    const { stdout } = await bench.run(attack(script), { limits });
    expect(stdout).toEqual([]);
    expect(bench.survivors()).toEqual([]);
  });

  // Only with control groups, because limits that are polled may be checked late while all scripts run.
  if (kernelCounts)
    test("all scripts together do not affect a neighbour", async () => {
      await using bench = await createBench(setup);
      const neighbour = bench.start(sh("echo up; exec sleep 600"), { limits });
      await neighbour.printed("up");
      const scripts = Object.values({ ...memory, ...processEscapes });
      const ran = await Promise.all(scripts.map((script) => bench.run(attack(script), { limits })));
      expect(ran.map(({ stdout }) => stdout)).toEqual(scripts.map(() => []));
      expect(neighbour.running.processes().length).toBeGreaterThan(0);
      neighbour.running.kill();
      await neighbour.running.exited;
      expect(bench.survivors()).toEqual([]);
    });

  test.each(Object.entries(rightEscapes))("%s", async (_name, script) => {
    await using bench = await createBench(setup);
    const neighbour = bench.start(sh("echo up; exec sleep 600"), { limits });
    await neighbour.printed("up");
    const [itsPid = 0] = neighbour.running.processes();
    const before = limitsOf(itsPid);
    const { running, printed, stdout } = bench.start(attack(`${script}\nprint("tried", flush=True); time.sleep(600)`), {
      limits,
    });
    await printed("tried");
    expect(stdout).toEqual(["tried"]);
    const [pid = 0] = running.processes();
    expect(limitsOf(pid)).toEqual(before);
    expect(limitsOf(itsPid)).toEqual(before);
    if (kernelCounts) expect(before.join()).toContain(String(limits.memory));
    for (const one of [running, neighbour.running]) one.kill();
    await Promise.all([running.exited, neighbour.running.exited]);
  });
});
