/** How often a follower polls: immediately if more entries exist, less often while the log is quiet. */
import { expect, test } from "vitest";
import type { LogPage } from "../../../../core/domain/logs/entry.ts";
import { pauseAfter } from "../../../../core/domain/logs/follow-log.ts";
import { followLog, LOG_PAGE, type LogRow } from "../../../../hosts/cli/logs/follow.ts";

const row: LogRow = {
  timestamp: "2026-01-01T00:00:00+00:00",
  severity: "INFO",
  message: "tick",
  log_name: "stdout",
  insert_id: "1",
};
const page = (count: number, partial = false): LogPage => ({
  logs: Array.from({ length: count }, () => row),
  cursor: "2026-01-01T00:00:00+00:00",
  partial,
});

/** Follows a log that returns these pages. Returns the reads, the pauses in milliseconds, and the idle checks. */
const follow = async (answers: readonly (LogPage | undefined)[], millisPerRead = 0) => {
  const stop = new AbortController();
  const done: (string | number)[] = [];
  let [asked, time] = [0, 0];
  const read = async () => {
    done.push("read");
    time += millisPerRead;
    if (asked === answers.length - 1) stop.abort();
    return answers[asked++];
  };
  const onIdle = async () => void done.push("idle");
  const wait = async (millis: number) => void done.push(millis);
  for await (const _ of followLog(read, { since: undefined, signal: stop.signal, onIdle, wait, now: () => time }));
  return done;
};

test("reads immediately after a full or partial page, and otherwise after a pause", async () => {
  expect(await follow([page(LOG_PAGE), page(3), page(0, true), page(0)])).toEqual([
    "read",
    "read",
    200,
    "read",
    "read",
  ]);
});

test("reads immediately after a page for which the platform has waited, and checks the deployment", async () => {
  expect(await follow([page(0), page(0), page(1), page(0)], 20_000)).toEqual([
    ...["read", "idle", 0, "read", 0, "read", 200, "read"],
  ]);
});

test("retries after a second if the platform does not respond", async () => {
  expect(await follow([undefined, page(1), page(0)])).toEqual(["read", 1000, "read", 200, "read"]);
});

test("reads less often after ten seconds without entries, down to once a second, and checks the deployment", async () => {
  const quiet = await follow([page(1), ...Array.from({ length: 400 }, () => page(0)), page(0)]);
  const pauses = quiet.filter((one) => typeof one === "number");
  expect(pauses.slice(0, 51).every((pause) => pause === 200)).toBe(true);
  expect(pauses.toSorted((a, b) => a - b)).toEqual(pauses);
  expect(pauses.at(-1)).toBe(1000);
  expect(quiet.filter((one) => one === "idle").length).toBeGreaterThan(3);
  expect([0, 10_000, 25_000, 90_000].map(pauseAfter)).toEqual([200, 200, 500, 1000]);
});

test("reads often again after an entry", async () => {
  const done = await follow([...Array.from({ length: 300 }, () => page(0)), page(1), page(0)]);
  expect(done.slice(-3)).toEqual(["read", 200, "read"]);
});

test("waits for the time in the response, but reads immediately after a full page", async () => {
  const later = { ...page(1), pollAfterMs: 2400 };
  expect(await follow([later, { ...page(LOG_PAGE), pollAfterMs: 2400 }, page(0)])).toEqual([
    "read",
    2400,
    "read",
    "read",
  ]);
});
