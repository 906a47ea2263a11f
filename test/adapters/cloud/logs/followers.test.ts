/** The reads of many followers: their pauses, and logs that are read alone. */
import { expect, test } from "vitest";
import { LogFollowers, type ReadLogsTogether, type ReadTogether } from "../../../../adapters/cloud/logs/followers.ts";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { before, behind } from "../../../../core/domain/logs/cursor.ts";
import { type Instant, millisOf } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { ok } from "../../../../core/result.ts";
import { logQuery } from "../../../clouds/logs.ts";
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
    clock,
    readTogether,
    readsPerMinute: 60_000 / PAUSE_MS,
    maySearch: () => false,
    keyOf: ({ service }) => service,
  });
  const end = millisOf(clock.now()) + 120_000;
  const pauses: number[] = [];
  const one = async (n: number) => {
    const scope = { owner: "acme" as AccountId, service: `app-${n}` as DeploymentName };
    const position = behind(clock.now());
    const search = () => expect.fail("a follower searches");
    while (millisOf(clock.now()) < end) {
      const found = await followers.after(scope, position, { ...logQuery(), until: clock.now() }, search);
      // With many logs, a reader may not see its first page in time.
      const { pollAfterMs = 0 } = found.unwrapOr({ pollAfterMs: 1000 });
      if (millisOf(clock.now()) > end - 60_000) pauses.push(pollAfterMs);
      await clock.sleep(Math.max(pollAfterMs, 1));
    }
  };
  await whileTicking(clock, Promise.all(Array.from({ length: count }, (_, n) => one(n))), 100);
  return { pauses, callsPerSecond: calls / 120 };
};

test("the pause of a follower grows with the number of calls that one read of all logs takes, but the rate of calls does not", async () => {
  for (const [count, logsPerCall, pause] of [
    [1, 1, 500],
    [10, 10, 500],
    [10, 5, 1000],
    [10, 1, 5000],
    [30, 1, 15_000],
    [50, 1, 20_000],
  ] as const) {
    const { pauses, callsPerSecond } = await follow(count, logsPerCall);
    const label = `${count} logs, ${logsPerCall} per call`;
    expect(Math.max(...pauses), label).toBe(pause);
    expect(callsPerSecond, label).toBeLessThanOrEqual(2.02);
    expect(pauses.length, label).toBeLessThanOrEqual(((60_000 / pause) * 1.5 + 1) * count);
  }
});

const scopeOf = (service: string) => ({ owner: "acme" as AccountId, service: service as DeploymentName });

/** Two followed logs, of which a call reads the first one. */
const startTwo = async (pageOf: (until: Instant) => Omit<ReadTogether<never>, "read" | "unjoinable" | "size">) => {
  const clock = createManualClock();
  let maySearch = false;
  const followers = new LogFollowers({
    clock,
    readsPerMinute: 60_000 / PAUSE_MS,
    maySearch: () => maySearch,
    keyOf: ({ service }) => service,
    readTogether: async (logs, until) =>
      ok({ read: logs.slice(0, 1), unjoinable: [], size: 0, ...(logs.length === 1 ? { entries: [] } : pageOf(until)) }),
  });
  const position = behind(clock.now());
  let searches = 0;
  const search = async () => {
    searches++;
    return ok({ entries: [], partial: true });
  };
  const read = (service: string) => {
    const query = { ...logQuery(), until: clock.now() };
    return whileTicking(clock, followers.after(scopeOf(service), position, query, search), 100);
  };
  await clock.advance(1000);
  const allowSearches = () => {
    maySearch = true;
  };
  return { clock, followers, read, allowSearches, searches: () => searches };
};

test("a log with more entries than a call returns is read alone, if others wait", async () => {
  const { read, searches } = await startTwo((until) => ({ entries: [], end: before(until) }));
  await read("a");
  expect(searches()).toBe(0);
  await read("b");
  expect(searches()).toBeGreaterThan(0);
});

test("a client that reads the newest entries does not make followers search", async () => {
  const { clock, followers, read, allowSearches, searches } = await startTwo(() => ({ entries: [] }));
  await read("a");
  allowSearches();
  await clock.advance(5000);
  const query = { ...logQuery(), until: clock.now() };
  const seen = { instant: clock.now(), code: "" };
  followers.learn(scopeOf("a"), undefined, query, { entries: [], seen, partial: false });
  await read("a");
  expect(searches()).toBe(0);
});
