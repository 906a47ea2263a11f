/** `portside prove` on the local engine, for each of its runners. */
import { expect, test } from "vitest";
import { notPassed, proveOn } from "../../../support/cli/prove.ts";
import { createFastClock } from "../../../support/clocks/fast-clock.ts";
import { runners, startLocal } from "../../../support/providers/local-platform.ts";

/** A minute of the platform takes ten seconds. */
const SPEED = 6;

test.concurrent.each(runners)(
  "every step passes with the runner %s, and only the trash, the names and the logs remain",
  async (runner) => {
    await using platform = await startLocal({ runner }, {}, { clock: createFastClock(SPEED) });
    const report = await proveOn(platform.local.ports);
    expect(notPassed(report)).toEqual([]);
    expect(report.left).toEqual([]);
    const kept = ["in the trash", "for your account", "the log of"];
    expect(report.retained.map((one) => kept.find((word) => one.includes(word)))).toEqual(kept);
  },
);
