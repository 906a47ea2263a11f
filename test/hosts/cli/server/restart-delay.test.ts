/** Restarts of processes that end early. */
import { expect, test } from "vitest";
import { countFailures, restartDelay } from "../../../../hosts/cli/server/restart-delay.ts";

test("waits longer before each restart of a process that ends early", () => {
  expect([0, 1, 2, 3, 8, 50].map(restartDelay)).toEqual([0, 250, 500, 1000, 30_000, 30_000]);
});

test("counts consecutive processes that were ready for at most a second", () => {
  const counts: number[] = [];
  for (const readyMs of [60_000, 0, 1000, 1001, 999]) counts.push(countFailures(counts.at(-1) ?? 0, readyMs));
  expect(counts).toEqual([0, 1, 2, 0, 1]);
});
