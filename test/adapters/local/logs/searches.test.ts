/** Searches run next to the server's own work: expensive ones do not block it, and can be cancelled. */
import { readdirSync } from "node:fs";
import { getPriority } from "node:os";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Searches } from "../../../../adapters/local/logs/searches.ts";
import { createSystemClock } from "../../../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { behind, cursorOf, type LogPosition, parseCursor } from "../../../../core/domain/logs/cursor.ts";
import type { LogEntry, NewLogEntry } from "../../../../core/domain/logs/entry.ts";
import { everything, type LogFilter } from "../../../../core/domain/logs/filter/tree.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { every } from "../../../contracts/log-steps.ts";
import { type Folder, folderWith } from "../../../support/archives/folders.ts";
import { WrittenLogs } from "../../../support/logs/written-logs.ts";
import { catastrophicLines, catastrophicPatterns } from "../../../support/vitest/catastrophic.ts";
import { sampled } from "../../../support/vitest/sampled.ts";

const scope = { owner: "acme" as AccountId, service: "app" as DeploymentName };
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

let folder: Folder;
let logs: WrittenLogs;
const open = (): void => {
  logs = new WrittenLogs({
    folder: folder.path,
    clock: createSystemClock(),
    logger: silent,
    retentionDays: 30,
    maxBytes: 2 ** 30,
  });
};
beforeEach(() => {
  folder = folderWith();
  open();
});
afterEach(async () => {
  await logs.close();
  folder[Symbol.dispose]();
});

const START: LogPosition = behind(0n as LogPosition["instant"]);

const line = (text: string): NewLogEntry => ({ ...scope, severity: "INFO", logName: "stdout", text });

const matching = (pattern: string): LogFilter => ({
  kind: "compare",
  path: ["textPayload"],
  op: "=~",
  literal: { text: pattern },
});

test("a page without a filter is read while expensive patterns are searched", async () => {
  const text = `${"a".repeat(256 * 1024 - 1)}!`;
  expect((await logs.append(Array.from({ length: 8 }, () => line(text)))).isOk()).toBe(true);
  let over = 0;
  const search = async (pattern: string) => {
    const found = await logs.newest(scope, { ...every(), filter: matching(pattern) });
    over++;
    return found._unsafeUnwrap();
  };
  const slow = catastrophicPatterns.slice(0, 6);
  const searches = slow.map(search);
  for (let page = 0; page < 50; page++)
    expect((await logs.newest(scope, every(1)))._unsafeUnwrap().entries).toHaveLength(1);
  expect(over).toBeLessThan(slow.length);
  for (const found of await Promise.all(searches)) expect(found.partial).toBe(false);
});

test("searches for a hundred expensive patterns in the longest lines end soon, without a match", async () => {
  const lines = catastrophicLines();
  for (const text of lines) expect((await logs.append([line(text)])).isOk()).toBe(true);
  expect(catastrophicPatterns.length).toBeGreaterThanOrEqual(100);
  for (const pattern of sampled(catastrophicPatterns, 4)) {
    const startedAt = performance.now();
    const found = (await logs.newest(scope, { ...every(), filter: matching(pattern) }))._unsafeUnwrap();
    // The bound is one second per line on an idle machine; test/bench has the measurements.
    expect(performance.now() - startedAt, pattern).toBeLessThan(5000 * lines.length);
    expect(found.partial).toBe(false);
    expect(found.entries, pattern).toEqual([]);
  }
}, 300_000);

test("an account that searches a lot does not delay other accounts", async () => {
  const lines = Array.from({ length: 3 }, () => line(catastrophicLines()[0] as string));
  expect((await logs.append(lines)).isOk()).toBe(true);
  const other = { ...scope, owner: "other" as AccountId };
  expect((await logs.append([{ ...line("mine"), ...other }])).isOk()).toBe(true);
  let over = 0;
  const searches = Array.from({ length: 3 }, async () => {
    const found = await logs.newest(scope, { ...every(), filter: matching("a.{40}X$") });
    expect(found.isOk()).toBe(true);
    over++;
  });
  const found = await logs.newest(other, { ...every(), filter: matching("^mine") });
  expect(found._unsafeUnwrap().entries).toHaveLength(1);
  expect(over).toBeLessThan(2);
  await Promise.all(searches);
});

test("the timeout also ends a search within a window, and includes waiting for a thread", async () => {
  const lines = Array.from({ length: 6 }, () => line(catastrophicLines()[0] as string));
  expect((await logs.append(lines)).isOk()).toBe(true);
  const query = { ...every(), filter: matching("a.{90}X$"), timeoutMs: 50 };
  const [first, second] = await Promise.all([1, 2].map(() => logs.after(scope, START, query)));
  for (const found of [first, second]) expect(found?._unsafeUnwrap()).toMatchObject({ entries: [], partial: true });
  // The second search waited for a thread until its timeout. It still examined one line, so that a follower advances.
  const oldest = (await logs.after(scope, START, every(1)))._unsafeUnwrap().entries[0];
  expect(second?._unsafeUnwrap().seen).toMatchObject({ instant: oldest?.instant, code: oldest?.code });
});

test("a cancelled search ends, and the next one works", async () => {
  expect((await logs.append(Array.from({ length: 40 }, () => line("a".repeat(256 * 1024))))).isOk()).toBe(true);
  const given = new AbortController();
  const search = logs.newest(scope, { ...every(), filter: matching("(.*a){12}X") }, { signal: given.signal });
  given.abort();
  expect((await search)._unsafeUnwrapErr().kind).toBe("unavailable");
  const next = await logs.newest(scope, { ...every(1), filter: matching("^a") });
  expect(next._unsafeUnwrap().entries).toHaveLength(1);
});

test("a search finds entries that were appended before it", async () => {
  for (let n = 0; n < 20; n++) {
    void logs.push(line(`needle ${n}`));
    const found = await logs.newest(scope, { ...every(), filter: { kind: "search", text: `needle ${n}` } });
    expect(found._unsafeUnwrap().entries.map(({ text }) => text)).toContain(`needle ${n}`);
  }
});

test("a cursor works after a restart, with and without a filter", async () => {
  expect((await logs.append(Array.from({ length: 30 }, (_, n) => line(`line ${n}`)))).isOk()).toBe(true);
  const entries = (await logs.newest(scope, every())).map(({ entries }) => entries)._unsafeUnwrap();
  await logs.close();
  open();
  for (const [index, entry] of entries.entries()) {
    const position = parseCursor(cursorOf(entry)) as LogPosition;
    const wanted = entries.slice(index + 1).map(({ text }) => text);
    for (const filter of [everything, { kind: "search", text: "line" } as const]) {
      const found = await logs.after(scope, position, { ...every(), filter });
      expect(found._unsafeUnwrap().entries.map(({ text }) => text)).toEqual(wanted);
    }
  }
});

test("positions outside the file's range sort before or after everything", async () => {
  expect((await logs.append([line("one"), line("two")])).isOk()).toBe(true);
  const [first, last] = [parseCursor("0001-01-01T00:00:00Z"), parseCursor("9999-12-31T23:59:59Z")] as LogPosition[];
  const bound = (op: ">=" | "<", text: string): LogFilter => ({
    kind: "compare",
    path: ["timestamp"],
    op,
    literal: { text },
  });
  const filters = [everything, bound(">=", "0001-01-01T00:00:00Z"), bound("<", "9999-12-31T23:59:59Z")];
  for (const filter of filters) {
    const query = { ...every(), filter };
    expect((await logs.newest(scope, query))._unsafeUnwrap().entries).toHaveLength(2);
    expect((await logs.after(scope, first as LogPosition, query))._unsafeUnwrap().entries).toHaveLength(2);
    expect((await logs.after(scope, last as LogPosition, query))._unsafeUnwrap().entries).toEqual([]);
  }
  const none = { ...every(), filter: bound(">=", "9999-12-31T23:59:59Z") };
  expect((await logs.newest(scope, none))._unsafeUnwrap().entries).toEqual([]);
});

/** The priorities of this process's threads, from the first thread on (proc(5)). */
const threadPriorities = (): number[] => readdirSync("/proc/self/task").map((id) => getPriority(Number(id)));

test.runIf(process.platform === "linux")(
  "searches run at a lower priority, and other threads keep theirs",
  async () => {
    expect((await logs.append([line("x")])).isOk()).toBe(true);
    const before = threadPriorities();
    const lower = Math.min(19, getPriority() + 5);
    expect((await logs.newest(scope, { ...every(), filter: matching("x") })).isOk()).toBe(true);
    // The next search in the same thread does not lower the priority again.
    expect((await logs.newest(scope, { ...every(), filter: matching("y") })).isOk()).toBe(true);
    const after = threadPriorities();
    const lowered = (priorities: readonly number[]) => priorities.filter((priority) => priority === lower).length;
    expect(lowered(after)).toBe(lowered(before) + 1);
    expect(getPriority()).toBe(before[0]);
  },
);

test("in a bundle, without a thread, searches run in this process and yield", async () => {
  const text = catastrophicLines()[0] as string;
  expect((await logs.append(Array.from({ length: 2 }, () => line(text)))).isOk()).toBe(true);
  expect((await logs.append([line("needle")])).isOk()).toBe(true);
  const searches = new Searches(null);
  const search = { path: logs.pathOf(scope.owner), scope, position: START };
  /** Searches to the end of the log. Returns the entries that it finds, and the position at which each step ended. */
  const findAll = async (pattern: string) => {
    const entries: LogEntry[] = [];
    const seen: (LogPosition | undefined)[] = [];
    for (let position: LogPosition | undefined = START; position !== undefined && seen.length < 100; ) {
      const query = { ...every(), filter: matching(pattern) };
      const part = await searches.run({ ...search, position, query }, undefined);
      if (part === "damaged") throw new Error("the log is damaged");
      entries.push(...part.entries);
      seen.push(part.seen);
      position = part.partial ? part.seen : undefined;
    }
    return { entries, seen };
  };
  expect((await findAll("^needle")).entries).toMatchObject([{ text: "needle" }]);
  // Each step judges at least one line, and returns where the next one starts.
  const { entries, seen } = await findAll("a.{90}X$");
  expect(entries).toEqual([]);
  expect(seen.length).toBeGreaterThan(1);
  expect(await searches.isWhole(search.path)).toBe(true);
  await searches.close();
});

test("the end of a cancelled search ends no other search", async () => {
  expect((await logs.append([line("one")])).isOk()).toBe(true);
  const search = (signal?: AbortSignal) =>
    logs.newest(scope, { ...every(), filter: matching("one") }, signal === undefined ? {} : { signal });
  for (let round = 0; round < 100; round++) {
    const cancelled = new AbortController();
    const first = search(cancelled.signal);
    // Cancels the search before, during or right after its work in the thread.
    const until = performance.now() + (round % 20) / 4;
    while (performance.now() < until) await new Promise(setImmediate);
    cancelled.abort();
    expect((await search())._unsafeUnwrap().entries).toHaveLength(1);
    expect(await first).toBeDefined();
  }
});
