/** Searches run beside the server's own work: what is dear for them holds up nobody else, and can be given up. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { LocalLogs } from "../../../../adapters/local/logs/store.ts";
import { createSystemClock } from "../../../../adapters/shared/system.ts";
import type { AccountId } from "../../../../core/domain/account.ts";
import { cursorOf, type LogPosition, parseCursor } from "../../../../core/domain/log-cursor.ts";
import type { NewLogEntry } from "../../../../core/domain/log-entry.ts";
import { everything, type LogFilter } from "../../../../core/domain/log-filter/tree.ts";
import type { DeploymentName } from "../../../../core/domain/names.ts";
import { every } from "../../../contracts/log-steps.ts";
import { type Folder, folderWith } from "../../../support/folders.ts";

const scope = { owner: "acme" as AccountId, service: "app" as DeploymentName };
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

let folder: Folder;
let logs: LocalLogs;
const open = (): void => {
  logs = new LocalLogs({
    ...{ folder: folder.path, clock: createSystemClock(), logger: silent, retentionDays: 30, maxBytes: 2 ** 30 },
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

const line = (text: string): NewLogEntry => ({ ...scope, severity: "INFO", logName: "stdout", text });

const matching = (pattern: string): LogFilter => ({
  ...{ kind: "compare", path: ["textPayload"], op: "=~", literal: { text: pattern } },
});

/** Lines over which every one of these patterns is dear for an engine that goes back and tries again. */
const catastrophic = ["(a+)+$", "(a|aa)+$", "([a-z]+)*X$", "(.*a){12}X", "(a|a)*X", "^(([a-z])+.)+[A-Z]$"];

test("a page without a filter is answered while dear patterns are searched", async () => {
  const text = `${"a".repeat(256 * 1024 - 1)}!`;
  expect((await logs.append(Array.from({ length: 8 }, () => line(text)))).isOk()).toBe(true);
  let over = 0;
  const search = async (pattern: string) => {
    const found = await logs.newest(scope, { ...every(), filter: matching(pattern) });
    over++;
    return found._unsafeUnwrap();
  };
  const searches = catastrophic.map(search);
  for (let page = 0; page < 50; page++)
    expect((await logs.newest(scope, every(1)))._unsafeUnwrap().entries).toHaveLength(1);
  expect(over).toBeLessThan(catastrophic.length);
  for (const found of await Promise.all(searches)) expect(found.partial).toBe(false);
});

test("one that is given up ends, and the next one works", async () => {
  expect((await logs.append(Array.from({ length: 40 }, () => line("a".repeat(256 * 1024))))).isOk()).toBe(true);
  const given = new AbortController();
  const search = logs.newest(scope, { ...every(), filter: matching("(.*a){12}X") }, { signal: given.signal });
  given.abort();
  expect((await search)._unsafeUnwrapErr().kind).toBe("unavailable");
  const next = await logs.newest(scope, { ...every(1), filter: matching("^a") });
  expect(next._unsafeUnwrap().entries).toHaveLength(1);
});

test("what is appended before a search is found by it", async () => {
  for (let n = 0; n < 20; n++) {
    void logs.push(line(`needle ${n}`));
    const found = await logs.newest(scope, { ...every(), filter: { kind: "search", text: `needle ${n}` } });
    expect(found._unsafeUnwrap().entries.map(({ text }) => text)).toContain(`needle ${n}`);
  }
});

test("a cursor leads on after a restart, with a filter and without", async () => {
  expect((await logs.append(Array.from({ length: 30 }, (_, n) => line(`line ${n}`)))).isOk()).toBe(true);
  const entries = (await logs.newest(scope, every())).map(({ entries }) => entries)._unsafeUnwrap();
  await logs.close();
  open();
  for (const [index, entry] of entries.entries()) {
    const place = parseCursor(cursorOf(entry)) as LogPosition;
    const wanted = entries.slice(index + 1).map(({ text }) => text);
    for (const filter of [everything, { kind: "search", text: "line" } as const]) {
      const found = await logs.after(scope, place, { ...every(), filter });
      expect(found._unsafeUnwrap().entries.map(({ text }) => text)).toEqual(wanted);
    }
  }
});

test("times that the file cannot have are places before or behind everything", async () => {
  expect((await logs.append([line("one"), line("two")])).isOk()).toBe(true);
  const [first, last] = [parseCursor("0001-01-01T00:00:00Z"), parseCursor("9999-12-31T23:59:59Z")] as LogPosition[];
  const bound = (op: ">=" | "<", text: string): LogFilter => ({
    ...{ kind: "compare", path: ["timestamp"], op, literal: { text } },
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
