/** `portside prove` on the Google Cloud fakes. */
import { expect, test } from "vitest";
import { openCloud } from "../../clouds/cloud.ts";
import { gcp } from "../../clouds/gcp.ts";
import { notPassed, proveOn } from "../../support/cli/prove.ts";

test("every step passes, and only the trash and the log remain", { timeout: 300_000 }, async () => {
  const { ports, close } = await openCloud(gcp);
  const report = await proveOn(ports);
  await close();
  expect(notPassed(report)).toEqual([]);
  expect(report.left).toEqual([]);
  expect(report.retained).toHaveLength(2);
});
