/** The pause between the reads of a follower. */
import { expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { LogFollowers, type ReadLogsTogether } from "../../../../adapters/shared/logs/followers.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { behind } from "../../../../core/domain/logs/cursor.ts";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { ok } from "../../../../core/result.ts";
import { ask } from "../../../clouds/logs.ts";
import { whileTicking } from "../../../simulation/ticking.ts";

const PAUSE_MS = 500;

/** Follows logs for two minutes. Returns the pauses of the last minute, and the number of calls per second. */
const follow = async (count: number, logsPerCall: number) => {
  const clock = createManualClock();
  let calls = 0;
  const readTogether: ReadLogsTogether = async (logs) => {
    calls++;
    return ok({ read: logs.slice(0, logsPerCall), unjoinable: [], entries: [], size: 0 });
  };
  const followers = new LogFollowers({
    ...{ clock, readTogether, readsPerMinute: 60_000 / PAUSE_MS, maySearch: () => false },
    keyOf: ({ service }) => service,
  });
  const end = millisOf(clock.now()) + 120_000;
  const pauses: number[] = [];
  const one = async (n: number) => {
    const scope = { owner: "acme" as AccountId, service: `app-${n}` as DeploymentName };
    const position = behind(clock.now());
    const search = () => expect.fail("a follower searches");
    while (millisOf(clock.now()) < end) {
      const found = await followers.after(scope, position, { ...ask(), until: clock.now() }, search);
      const { pollAfterMs = 0 } = found._unsafeUnwrap();
      if (millisOf(clock.now()) > end - 60_000) pauses.push(pollAfterMs);
      await clock.sleep(Math.max(pollAfterMs, 1));
    }
  };
  await whileTicking(clock, Promise.all(Array.from({ length: count }, (_, n) => one(n))), 100);
  return { pauses, callsPerSecond: calls / 120 };
};

test("grows with the number of calls that read each log once, and the calls do not", async () => {
  for (const [count, logsPerCall, pause] of [
    [1, 1, 500],
    [10, 10, 500],
    [10, 5, 1000],
    [10, 1, 5000],
    [30, 1, 15_000],
  ] as const) {
    const { pauses, callsPerSecond } = await follow(count, logsPerCall);
    const label = `${count} logs, ${logsPerCall} per call`;
    expect(Math.max(...pauses), label).toBe(pause);
    expect(callsPerSecond, label).toBeLessThanOrEqual(2.02);
    expect(pauses.length, label).toBeLessThanOrEqual(((60_000 / pause) * 1.5 + 1) * count);
  }
});
