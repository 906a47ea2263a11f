/** `portside prove` on the Google Cloud fakes, without and with adverse behaviour. */
import { expect, test } from "vitest";
import { createGcpProvider } from "../../../adapters/gcp/index.ts";
import { openCloud } from "../../clouds/cloud.ts";
import { gcp, gcpWith } from "../../clouds/gcp.ts";
import { runtimeDeps } from "../../clouds/subject.ts";
import { allAdverse } from "../../fakes/gcp/adverse.ts";
import { notPassed, proveOn } from "../../support/cli/prove.ts";
import { createFastClock } from "../../support/clocks/fast-clock.ts";

/** The delays pass on a fast clock, on which a SQL statement would exceed its deadline. So this cloud has no SQL. */
const adverse: typeof gcp = {
  ...gcpWith(allAdverse),
  provide: (fakes, dataDir, deps) => {
    const { logDataset: _, ...config } = fakes.config(dataDir);
    return createGcpProvider(config, deps);
  },
};

test.each([
  ["without adverse behaviour", () => openCloud(gcp), []],
  [
    "with every adverse behaviour",
    () => openCloud(adverse, "real", { ...runtimeDeps(), clock: createFastClock(20) }),
    [expect.stringMatching(/^sql: skipped/)],
  ],
] as const)(
  "a cloud %s: every step passes, and only the trash and the log remain",
  { timeout: 300_000 },
  async (_, open, skipped) => {
    const { ports, close } = await open();
    const report = await proveOn(ports);
    await close();
    expect(notPassed(report)).toEqual(skipped);
    expect(report.left).toEqual([]);
    expect(report.retained).toHaveLength(2);
  },
);
