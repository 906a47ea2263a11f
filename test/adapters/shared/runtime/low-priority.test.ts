/** The priority of processes that lead a session. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { expect, test } from "vitest";

const source = new URL("../../../../adapters/shared/runtime/low-priority.ts", import.meta.url).href;

/** Lowers three sessions at the same time, and ends when each of them has a lower weight. */
const script = `
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
const { lowerPriority } = await import(${JSON.stringify(source)});
const sessions = [1, 2, 3].map(() => spawn("sleep", ["300"], { detached: true, stdio: "ignore" }));
try {
  for (const { pid } of sessions) lowerPriority(pid);
  const isHigh = ({ pid }) => readFileSync("/proc/" + pid + "/autogroup", "utf8").includes(" nice 0\\n");
  for (let looks = 0; looks < 2000 && sessions.some(isHigh); looks++) await setTimeout(25);
  console.log(sessions.some(isHigh) ? "high" : "low");
} finally {
  for (const one of sessions) one.kill("SIGKILL");
}
`;

test("an unprivileged process lowers several sessions at the same time", { timeout: 90_000 }, () => {
  // Absent if the kernel has no autogroups.
  if (!existsSync("/proc/self/autogroup")) return;
  const node = [process.execPath, "--input-type=module", "--eval", script];
  const asRoot = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", ...node];
  const [command = "", ...args] = process.getuid?.() === 0 ? asRoot : node;
  expect(execFileSync(command, args, { encoding: "utf8" })).toBe("low\n");
});
