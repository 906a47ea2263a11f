/** Stopping a command ends all of its processes. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { stopRunning } from "../../../../adapters/local/sandbox/runner.ts";
import { nodeSource } from "../../../support/archives/archives.ts";
import { runners, startLocal } from "../../../support/providers/local-platform.ts";
import { createBench, jobSetups, markedProcesses, node, sh } from "../../../support/sandbox/jobs.ts";

/** Starts processes that are hard to find: a grandchild, one with its own session, and one without a parent. */
const scatter = `
const { spawn } = require("child_process");
const stubborn = "trap '' TERM HUP INT; while :; do sleep 1; done";
spawn("sh", ["-c", "sh -c \\"" + stubborn + "\\" & wait"], { stdio: "ignore" });
spawn("sh", ["-c", stubborn], { stdio: "ignore", detached: true }).unref();
spawn("sh", ["-c", "(sh -c \\"" + stubborn + "\\" &) & exit 0"], { stdio: "ignore", detached: true }).unref();
setTimeout(() => { console.log("scattered"); END }, 200);
`;

describe.each(jobSetups)("$kind with $limits", (setup) => {
  test("sends SIGTERM to the command of a shell and waits for it", async () => {
    await using bench = await createBench(setup);
    const code = `process.on("SIGTERM", () => setTimeout(() => { console.log("finished"); process.exit(4); }, 100));
      setInterval(() => {}, 1000); console.log("up")`;
    const { running, printed, stdout } = bench.start(sh(`'${process.execPath}' -e '${code}'; exit $?`));
    await printed("up");
    const exit = await stopRunning(running, 20_000);
    expect(exit).toMatchObject({ code: 4, signal: null });
    expect(stdout).toEqual(["up", "finished"]);
  });

  test("kills a command that ignores SIGTERM after the grace period, and not before", async () => {
    await using bench = await createBench(setup);
    const { running, printed } = bench.start(
      node(`process.on("SIGTERM", () => {}); setInterval(() => {}, 9); console.log("up")`),
    );
    await printed("up");
    const startedAt = Date.now();
    const exit = await stopRunning(running, 500);
    expect(exit).toMatchObject({ code: null, signal: "SIGKILL" });
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(490);
    expect(bench.survivors()).toEqual([]);
  });

  test.each([
    ["it exits", "process.exit(0)"],
    ["it crashes", "process.kill(process.pid, 'SIGKILL')"],
    ["it is stopped", "setInterval(() => {}, 1000)"],
  ])("leaves no process when %s", async (_when, end) => {
    await using bench = await createBench(setup);
    const { running, printed } = bench.start(node(scatter.replace("END", end)));
    await printed("scattered");
    if (end.startsWith("setInterval")) {
      expect(bench.survivors().length).toBeGreaterThan(4);
      running.terminate();
      await sleep(100);
      running.kill();
    }
    await running.exited;
    expect(bench.survivors()).toEqual([]);
    expect(running.processes()).toEqual([]);
  });

  test("kills a process that has the name of the sandbox's program", async () => {
    await using bench = await createBench(setup);
    const { running, printed } = bench.start(
      node(`process.title = "bwrap"; process.on("SIGTERM", () => {}); setInterval(() => {}, 9); console.log("up")`),
    );
    await printed("up");
    await stopRunning(running, 100);
    expect(bench.survivors()).toEqual([]);
  });
});

describe.each(runners)("closing a platform (%s)", (runner) => {
  test("leaves no process, not even of a service that scatters them", async () => {
    const platform = await startLocal({ runner, graceSeconds: 0.5, drainSeconds: 1 });
    const server = `${scatter.replace("END", "").replace('const { spawn } = require("child_process");', "")}
      import { spawn } from "node:child_process";
      import { createServer } from "node:http";
      createServer((request, response) => response.end(process.env.PORTSIDE_INSTANCE)).listen(process.env.PORT);`;
    const id = await (await fetch(await platform.up(nodeSource(server)))).text();
    const [scope] = id.split(".");
    await expect.poll(() => markedProcesses(`${scope}.`).length).toBeGreaterThan(4);
    await platform[Symbol.asyncDispose]();
    expect(markedProcesses(`${scope}.`)).toEqual([]);
  });
});
