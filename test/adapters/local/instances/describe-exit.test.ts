/** Exit statuses of commands, for every runner, and the failures that they map to. */
import { describe, expect, test } from "vitest";
import { describeExit } from "../../../../adapters/local/instances/describe-exit.ts";
import { createBench, jobSetups, sh } from "../../../support/sandbox/jobs.ts";

const MEMORY = 512 * 1024 ** 2;

describe.each(jobSetups)("$kind with $limits", (setup) => {
  test.each([
    ["a normal exit", "exit 0", { code: 0, signal: null }],
    ["an exit code", "exit 3", { code: 3, signal: null }],
    ["the highest exit code", "exit 255", { code: 255, signal: null }],
    ["a signal to itself", "kill -SEGV $$", { code: null, signal: "SEGV" }],
    ["a signal to the command of the shell", "sh -c 'kill -ABRT $$'; exit $?", { code: null, signal: "ABRT" }],
    ["a kill", "kill -KILL $$", { code: null, signal: "KILL" }],
  ])("reports %s", async (_what, script, { code, signal }) => {
    await using bench = await createBench(setup);
    const exit = await bench.run(sh(script));
    expect(exit).toMatchObject({ code, signal: signal === null ? null : `SIG${signal}`, outOfMemory: false });
  });

  test("reports exit code 127 for a missing command", async () => {
    await using bench = await createBench(setup);
    const exit = await bench.run(sh("no-such-program --port 1"));
    expect(exit).toMatchObject({ code: 127, signal: null });
    expect(exit.stderr.join("\n")).toContain("no-such-program");
  });
});

describe("describeExit", () => {
  const tail = ["first", "last words"];
  const heap = ["FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"];

  test.each([
    ["exited", { code: 0, signal: null, outOfMemory: false }, tail, 0, "exit code 0"],
    ["crashed", { code: 7, signal: null, outOfMemory: false }, tail, 7, "with exit code 7"],
    ["crashed", { code: null, signal: "SIGSEGV", outOfMemory: false }, tail, undefined, "by signal SIGSEGV"],
    ["crashed", { code: null, signal: "SIGABRT", outOfMemory: false }, tail, undefined, "by signal SIGABRT"],
    ["out_of_memory", { code: null, signal: "SIGKILL", outOfMemory: true }, tail, undefined, "512Mi"],
    ["out_of_memory", { code: null, signal: "SIGABRT", outOfMemory: false }, heap, undefined, "512Mi"],
    ["crashed", { code: 1, signal: null, outOfMemory: false }, heap, 1, "with exit code 1"],
    ["crashed", { code: 1, signal: null, outOfMemory: false, dataLimited: true }, tail, 1, "with exit code 1"],
  ] as const)("%s: %o", (reason, exit, lines, exitCode, words) => {
    const failure = describeExit(exit, MEMORY, lines);
    expect(failure).toMatchObject({ reason, logTail: lines });
    expect(failure.exitCode).toBe(exitCode);
    expect(failure.message).toContain(words);
  });

  test.each([
    "  code: 'ERR_MEMORY_ALLOCATION_FAILED'",
    "RangeError: Array buffer allocation failed",
    "FATAL ERROR: Committing semi space failed. Allocation failed - JavaScript heap out of memory",
    "MemoryError",
    "  what():  std::bad_alloc",
    "fatal error: runtime: out of memory",
    "java.lang.OutOfMemoryError: Java heap space",
    "sh: 1: Cannot allocate memory",
  ])("reports out_of_memory if memory is limited and the last line is %s", (line) => {
    const exit = { code: 1, signal: null, outOfMemory: false };
    const lines = [...tail, line, "the end"];
    expect(describeExit({ ...exit, dataLimited: true }, MEMORY, lines).reason).toBe("out_of_memory");
    expect(describeExit({ ...exit, dataLimited: false }, MEMORY, lines).reason).toBe("crashed");
    expect(describeExit({ ...exit, code: 0, dataLimited: true }, MEMORY, lines).reason).toBe("exited");
  });
});
