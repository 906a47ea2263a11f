/** `portside prove` on the local engine with services in containers. */
import { expect, test } from "vitest";
import { notPassed, proveOn } from "../support/cli/prove.ts";
import { startEngine } from "../support/providers/local-suites.ts";

test("every step passes, and only retained data remains", { timeout: 300_000 }, async () => {
  const { local, close } = await startEngine("container");
  const report = await proveOn(local.ports);
  await close();
  expect(notPassed(report)).toEqual([]);
  expect(report.left).toEqual([]);
  expect(report.retained).toHaveLength(3);
});
