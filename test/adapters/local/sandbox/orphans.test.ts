/** The next server finds the processes of a killed server by their marker and ends them. */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { killOrphans } from "../../../../adapters/local/sandbox/launch.ts";
import { MARKER } from "../../../../adapters/local/sandbox/runner.ts";
import { markedProcesses } from "../../../support/sandbox/jobs.ts";

const scopes: string[] = [];
const newScope = (): string => {
  const scope = `test${randomUUID().slice(0, 8)}`;
  scopes.push(scope);
  return scope;
};
afterEach(() => Promise.all(scopes.splice(0).map((scope) => killOrphans(scope))));

/** Starts a detached process with the marker of an instance of the scope. */
const abandon = (scope: string, script: string): void =>
  spawn("sh", ["-c", script], {
    env: { PATH: process.env["PATH"], [MARKER]: `${scope}.${randomUUID()}` },
    detached: true,
    stdio: "ignore",
  }).unref();

test("ends every process of the scope, and none of other scopes", async () => {
  const [mine, other] = [newScope(), newScope()];
  for (let n = 0; n < 3; n++) abandon(mine, "trap '' TERM; sleep 60 & (sleep 60 &) ; wait");
  abandon(other, "exec sleep 60");
  abandon(`${mine}0`, "exec sleep 60");
  scopes.push(`${mine}0`);
  await expect.poll(() => markedProcesses(`${mine}.`).length).toBe(9);
  await expect.poll(() => markedProcesses(`${other}.`).length).toBe(1);
  await killOrphans(mine);
  expect(markedProcesses(`${mine}.`)).toEqual([]);
  expect(markedProcesses(`${other}.`).length).toBe(1);
  expect(markedProcesses(`${mine}0.`).length).toBe(1);
});

test("ends a child that an orphan starts meanwhile", async () => {
  const scope = newScope();
  // Each process lives briefly and starts the next, so most are younger than the server that searches for them.
  abandon(scope, `export relay='sleep 0.02; sh -c "$relay" &'; sh -c "$relay" & exec sleep 60`);
  await expect.poll(() => markedProcesses(`${scope}.`).length).toBeGreaterThan(1);
  await killOrphans(scope);
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(markedProcesses(`${scope}.`)).toEqual([]);
});

test("ignores a marker within another variable", async () => {
  const scope = newScope();
  const child = spawn("sleep", ["60"], { env: { PATH: process.env["PATH"], NOTE: `${MARKER}=${scope}.x` } });
  await killOrphans(scope);
  expect(child.kill("SIGTERM")).toBe(true);
});
