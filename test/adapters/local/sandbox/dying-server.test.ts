/** A sandbox ends when its server is killed, even during the sandbox's start. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findControlGroups } from "../../../../adapters/local/sandbox/cgroup.ts";
import { killOrphans } from "../../../../adapters/local/sandbox/launch.ts";
import { createBench, markedProcesses, sandboxSetups } from "../../../support/sandbox/jobs.ts";
import { needs } from "../../../support/vitest/machine.ts";

const child = new URL("../../../support/sandbox/dying-server.ts", import.meta.url).pathname;

/** A process shows no environment during `execve`, so a single empty poll proves nothing. */
const QUIET_POLLS = 10;

const scopes: string[] = [];
afterEach(async () => {
  for (const scope of scopes.splice(0)) {
    await killOrphans(scope);
    const groups = findControlGroups(`portside-${scope}`);
    await groups?.sweep();
    groups?.close();
  }
});

/** As root, a server starts each account's sandboxes as a separate user. */
const users = process.getuid?.() === 0 ? [[], ["2100000001"]] : [[]];

beforeEach((context) => needs(context, "bubblewrap"));

describe.each(sandboxSetups.flatMap((setup) => users.map((user) => ({ ...setup, user }))))("$limits $user", (setup) => {
  // 0 is before the command's first instruction. The other values, in milliseconds, are spread over a start.
  test.each([0, 2, 6, 12, 25, 60, "running"])("ends if the server is killed after: %s", async (millis) => {
    await using bench = await createBench(setup);
    const scope = `${bench.scope}d`;
    scopes.push(scope);
    const args = [child, scope, `${bench.folder}/sandbox`, setup.limits, String(millis), ...setup.user];
    const server = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] });
    const [, signal] = await once(server, "exit");
    expect(signal).toBe("SIGKILL");
    let quiet = 0;
    await expect
      .poll(() => {
        quiet = markedProcesses(`${scope}.`).length === 0 ? quiet + 1 : 0;
        return quiet;
      })
      .toBeGreaterThanOrEqual(QUIET_POLLS);
  });
});
