/** Pages of a log (contract 4.6): where each page begins and ends, and which entries are too recent for a page. */
import { describe, expect, test } from "vitest";
import { memoryCapabilities } from "../../../../adapters/memory/capabilities.ts";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { createMemoryLogs } from "../../../../adapters/memory/logs/log-store.ts";
import { createWorld } from "../../../../adapters/memory/world.ts";
import { compileRe2 } from "../../../../adapters/shared/logs/re2.ts";
import { type AccountId, parseAccount } from "../../../../core/domain/accounts/account.ts";
import type { NewLogEntry } from "../../../../core/domain/logs/entry.ts";
import { unavailable } from "../../../../core/errors.ts";
import { errAsync } from "../../../../core/result.ts";
import { deployed, type MemoryOptions, startMemory } from "../../../support/providers/memory-platform.ts";

const owner = parseAccount("acme") as AccountId;

/** A deployment with `count` lines, one a second, every third an error. */
const withLines = async (count: number, options: MemoryOptions = {}) => {
  const platform = startMemory(options);
  await deployed(platform);
  const begun = platform.clock.now();
  for (let n = 0; n < count; n++) {
    await platform.clock.advance(1000);
    const line: NewLogEntry = {
      owner,
      service: "app" as never,
      logName: "stdout",
      text: `line ${n}`,
      severity: n % 3 === 0 ? "ERROR" : "INFO",
    };
    expect((await platform.memory.provider.logs.append([line])).isOk()).toBe(true);
  }
  const read = async (request: Record<string, unknown> = {}) =>
    (
      await platform.controlPlane.readLogs(platform.principal(), { deployment_name: "app", ...request })
    )._unsafeUnwrap();
  const lines = (page: Awaited<ReturnType<typeof read>>) =>
    page.logs.flatMap(({ message }) => (message.startsWith("line") ? [Number(message.slice(5))] : []));
  const at = (second: number) => new Date(Number((begun + BigInt(second) * 1_000_000_000n) / 1_000_000n)).toISOString();
  return { ...platform, read, lines, at };
};

describe("a page begins", () => {
  test("with the newest entries by default", async () => {
    const { read, lines } = await withLines(10);
    expect(lines(await read({ limit: 3 }))).toEqual([7, 8, 9]);
    expect(lines(await read({ limit: 2, query: "severity=ERROR" }))).toEqual([6, 9]);
  });

  test("after since, and its cursor leads to the end and to later entries", async () => {
    const { read, lines, at, memory, clock } = await withLines(10);
    const first = await read({ since: at(4), limit: 4 });
    expect(lines(first)).toEqual([4, 5, 6, 7]);
    const second = await read({ since: first.cursor, limit: 4 });
    expect(lines(second)).toEqual([8, 9]);
    const third = await read({ since: second.cursor });
    expect(third).toMatchObject({ logs: [], cursor: second.cursor });
    await clock.advance(1);
    const late: NewLogEntry = { owner, service: "app" as never, severity: "INFO", logName: "stdout", text: "line 10" };
    expect((await memory.provider.logs.append([late])).isOk()).toBe(true);
    expect(lines(await read({ since: third.cursor }))).toEqual([10]);
  });

  test("at the filter's lower time bound, so that a follower that starts there reads every entry", async () => {
    const { read, lines, at } = await withLines(10);
    expect(lines(await read({ query: `timestamp>="${at(3)}"`, limit: 3 }))).toEqual([2, 3, 4]);
    expect(lines(await read({ query: `timestamp>"${at(3)}" severity=ERROR`, limit: 1 }))).toEqual([3]);
    // The page begins there only if the bound applies to every match.
    expect(lines(await read({ query: `timestamp>="${at(3)}" OR severity=ERROR`, limit: 1 }))).toEqual([9]);
    expect(lines(await read({ query: `NOT timestamp<"${at(3)}"`, limit: 1 }))).toEqual([9]);
    // since has priority; the bound still applies.
    expect(lines(await read({ since: at(1), query: `timestamp>="${at(5)}"`, limit: 1 }))).toEqual([4]);
  });
});

test("without matches the cursor advances past the entries read, or stays at since", async () => {
  const { read, lines, at } = await withLines(6);
  const nothing = await read({ since: at(0), query: "nowhere" });
  expect(nothing.logs).toEqual([]);
  expect(lines(await read({ since: nothing.cursor }))).toEqual([]);
  const future = "2030-01-01T00:00:00.123+00:00";
  expect(await read({ since: future })).toMatchObject({ logs: [], cursor: future });
});

test("holds back entries younger than the settling time, and shows them later", async () => {
  const capabilities = { logs: { ...memoryCapabilities.logs, settle_seconds: 5 } };
  const { read, lines, at, clock } = await withLines(10, { capabilities });
  expect(lines(await read())).toEqual([0, 1, 2, 3, 4]);
  const page = await read({ since: at(3) });
  expect(lines(page)).toEqual([3, 4]);
  expect(lines(await read({ since: page.cursor }))).toEqual([]);
  await clock.advance(2000);
  expect(lines(await read({ since: page.cursor }))).toEqual([5, 6]);
});

test("in a log without visible entries the cursor precedes the entries that will settle", async () => {
  const capabilities = { logs: { ...memoryCapabilities.logs, settle_seconds: 5 } };
  const { read, lines, clock } = await withLines(2, { capabilities });
  const page = await read();
  expect(page.logs).toEqual([]);
  await clock.advance(10_000);
  expect(lines(await read({ since: page.cursor }))).toEqual([0, 1]);
});

test("returns not_found for an unknown deployment, but an empty page if the check for a log fails", async () => {
  let answers = true;
  const platform = startMemory({
    around: ({ logs }) => ({
      logs: {
        ...logs,
        newest: (...args) => (answers ? logs.newest(...args) : errAsync(unavailable("The log does not answer.", 1))),
      },
    }),
  });
  const read = () =>
    platform.controlPlane.readLogs(platform.principal(), { deployment_name: "app", since: "2030-01-01T00:00:00Z" });
  expect((await read())._unsafeUnwrapErr().kind).toBe("not_found");
  answers = false;
  expect((await read()).isOk()).toBe(true);
});

test("a search that reaches its limit returns a partial page, and its cursor resumes there", async () => {
  const clock = createManualClock();
  // Examines four entries before its timeout passes.
  const impatient = createMemoryLogs(createWorld(), clock, compileRe2, 4);
  const platform = startMemory({ clock, around: () => ({ logs: impatient }) });
  await deployed(platform);
  const line = (text: string): NewLogEntry => ({
    owner,
    service: "app" as never,
    severity: "INFO",
    logName: "stdout",
    text,
  });
  expect((await impatient.append(Array.from({ length: 10 }, (_, n) => line(n === 9 ? "needle" : "hay")))).isOk()).toBe(
    true,
  );
  const read = async (since: string) =>
    (
      await platform.controlPlane.readLogs(platform.principal(), { deployment_name: "app", since, query: "needle" })
    )._unsafeUnwrap();
  let page = await read("2026-01-01T00:00:00Z");
  let cut = 0;
  for (; page.partial; cut++) page = await read(page.cursor);
  expect(cut).toBeGreaterThan(1);
  expect(page.logs.map(({ message }) => message)).toEqual(["needle"]);
  const newest = await platform.controlPlane.readLogs(platform.principal(), { deployment_name: "app", query: "hay" });
  expect(newest._unsafeUnwrap()).toMatchObject({ partial: true, logs: [{}, {}, {}] });
});

test("an invalid filter is reported with its position, together with all other issues", async () => {
  const { controlPlane, principal } = await withLines(0);
  const answer = await controlPlane.readLogs(principal(), {
    deployment_name: "app",
    query: "a) OR (b",
    limit: 0,
    since: "yesterday",
  });
  expect(answer._unsafeUnwrapErr()).toMatchObject({
    kind: "invalid_input",
    issues: [
      { path: ["since"], type: "datetime_parsing" },
      { path: ["limit"] },
      { path: ["query"], type: "value_error", message: "at position 2: unexpected ')': no parenthesis is open" },
    ],
  });
});

test("a deleted deployment's log stays readable, even from a time after its last entry", async () => {
  const { controlPlane, principal, read, lines, at } = await withLines(3);
  expect((await controlPlane.deleteDeployment(principal(), { name: "app" })).isOk()).toBe(true);
  expect(lines(await read())).toEqual([0, 1, 2]);
  expect((await read({ since: at(100) })).logs).toEqual([]);
  expect((await controlPlane.readLogs(principal("other"), { deployment_name: "app" })).isErr()).toBe(true);
});

test.each(["newest", "after"] as const)(
  "an error of the log store (%s) is returned, never an empty page",
  async (method) => {
    const platform = startMemory({
      around: ({ logs }) => ({
        logs: { ...logs, [method]: () => errAsync(unavailable("The log does not answer.", 1)) },
      }),
    });
    await deployed(platform);
    const since = method === "after" ? { since: "2026-01-01T00:00:00Z" } : {};
    const read = await platform.controlPlane.readLogs(platform.principal(), { deployment_name: "app", ...since });
    expect(read._unsafeUnwrapErr()).toMatchObject({ kind: "unavailable", message: "The log does not answer." });
  },
);
