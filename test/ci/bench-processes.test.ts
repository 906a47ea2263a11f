/** The processes of benchmarks end together with the benchmark. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

test("ends many processes on exit, without a warning about too many listeners", async () => {
  const script = `
    import { spawn } from "node:child_process";
    import { killOnExit } from ${JSON.stringify(new URL("../bench/processes.ts", import.meta.url).href)};
    const stdio = ["ignore", "inherit", "ignore"];
    for (let n = 0; n < 12; n++) killOnExit(spawn("sleep", ["600"], { stdio }));
    // Node prints warnings in the next tick.
    setImmediate(() => process.exit());`;
  // Resolves when every process that inherited the output has ended.
  const { stderr } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script]);
  expect(stderr).toBe("");
});
