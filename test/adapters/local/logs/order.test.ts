/** The total order of each deployment's log, for any clock, across restarts, per account. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { comparePositions, ordinalCode } from "../../../../core/domain/logs/cursor.ts";
import type { LogEntry, NewLogEntry } from "../../../../core/domain/logs/entry.ts";
import type { Instant } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { every } from "../../../contracts/log-steps.ts";
import { WrittenLogs } from "../../../support/logs/written-logs.ts";
import { runs } from "../../../support/vitest/runs.ts";

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const acme = "acme" as AccountId;
const app = "app" as DeploymentName;

let folder: string;
let logs: WrittenLogs;
/** The clock's time, which tests set. It may go back. */
let now = 1_000n as Instant;
const open = (): void => {
  logs = new WrittenLogs({
    folder,
    logger: silent,
    retentionDays: 30,
    maxBytes: 2 ** 30,
    clock: { now: () => now, sleep: () => Promise.resolve() },
  });
};
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-logs-"));
  now = 1_000n as Instant;
  open();
});
afterEach(async () => {
  await logs.close();
  rmSync(folder, { recursive: true, force: true });
});

const line = (text: string, service = app, owner = acme): NewLogEntry => ({
  owner,
  service,
  text,
  severity: "INFO",
  logName: "stdout",
});
const newest = async (limit = 1000, service = app, owner = acme): Promise<readonly LogEntry[]> =>
  (await logs.newest({ owner, service }, every(limit)))._unsafeUnwrap().entries;
const texts = async (...scope: Parameters<typeof newest>) => (await newest(...scope)).map(({ text }) => text);

test("orders entries of one nanosecond by their ordinal", async () => {
  for (const text of ["a", "b", "c"]) void logs.push(line(text));
  now = 1_001n as Instant;
  void logs.push(line("d"));
  const entries = await newest();
  expect(entries.map(({ text, instant, code }) => [text, instant, Number(code)])).toEqual([
    ["a", 1000n, 0],
    ["b", 1000n, 1],
    ["c", 1000n, 2],
    ["d", 1001n, 0],
  ]);
});

test("keeps the order if the clock goes back", async () => {
  void logs.push(line("first"));
  now = 10n as Instant;
  void logs.push(line("second"));
  void logs.push(line("third"));
  now = 2_000n as Instant;
  void logs.push(line("fourth"));
  const entries = await newest();
  expect(entries.map(({ text, instant }) => [text, instant])).toEqual([
    ["first", 1000n],
    ["second", 1000n],
    ["third", 1000n],
    ["fourth", 2000n],
  ]);
  expect(entries.map(({ code }) => Number(code))).toEqual([0, 1, 2, 0]);
});

test("keeps the order if the clock went back while the server was down", async () => {
  void logs.push(line("before"));
  await logs.close();
  now = 10n as Instant;
  open();
  void logs.push(line("after"));
  expect((await newest()).map(({ text, instant, code }) => [text, instant, Number(code)])).toEqual([
    ["before", 1000n, 0],
    ["after", 1000n, 1],
  ]);
});

test("positions are unique and increase, for any clock, services and restarts", async () => {
  const happening = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({ service: fc.constantFrom("app", "other"), owner: fc.constantFrom("acme", "others") }),
    },
    { weight: 4, arbitrary: fc.bigInt({ min: -1000n, max: 1000n }) },
    { weight: 1, arbitrary: fc.constantFrom("read" as const, "reopen" as const) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { maxLength: 60 }), async (happenings) => {
      await logs.close();
      rmSync(folder, { recursive: true, force: true });
      open();
      const sent = new Map<string, string[]>();
      for (const [n, one] of happenings.entries()) {
        if (typeof one === "bigint") now = (now + one < 0n ? 0n : now + one) as Instant;
        else if (one === "read") await newest(3);
        else if (one === "reopen") {
          await logs.close();
          open();
        } else {
          void logs.push(line(String(n), one.service as DeploymentName, one.owner as AccountId));
          const key = `${one.owner}/${one.service}`;
          sent.set(key, [...(sent.get(key) ?? []), String(n)]);
        }
      }
      for (const [key, expected] of sent) {
        const [owner, service] = key.split("/") as [AccountId, DeploymentName];
        const entries = await newest(1000, service, owner);
        expect(entries.map(({ text }) => text)).toEqual(expected);
        for (let n = 1; n < entries.length; n++)
          expect(comparePositions(entries[n - 1] as LogEntry, entries[n] as LogEntry)).toBeLessThan(0);
      }
    }),
    runs(40),
  );
});

test("newest returns the last entries of one deployment, oldest first", async () => {
  for (let n = 0; n < 25; n++) {
    void logs.push(line(`app ${n}`));
    void logs.push(line(`other ${n}`, "other" as DeploymentName));
  }
  expect(await texts(3)).toEqual(["app 22", "app 23", "app 24"]);
  expect((await newest(1000)).length).toBe(25);
  expect(await texts(10, "none" as DeploymentName)).toEqual([]);
  expect(await texts(10, app, "unknown" as AccountId)).toEqual([]);
});

test("each account has its own file, and its name does not reveal the account", async () => {
  void logs.push(line("of acme"));
  void logs.push(line("of others", app, "idp:others" as AccountId));
  await Promise.all([newest(), newest(1, app, "idp:others" as AccountId)]);
  const files = readdirSync(folder).filter((name) => name.endsWith(".sqlite"));
  expect(files.length).toBe(2);
  expect(files.join()).not.toMatch(/acme|others/);
  expect(await texts()).toEqual(["of acme"]);
  // Reading an account's log creates no file.
  await newest(1, app, "curious" as AccountId);
  expect(readdirSync(folder).filter((name) => name.endsWith(".sqlite")).length).toBe(2);
});

test("returns an entry with all its fields", async () => {
  const whole: NewLogEntry = {
    owner: acme,
    service: app,
    severity: "CRITICAL",
    logName: "requests",
    revision: "app-00001",
    instance: "i1",
    json: { message: "é \u0000 ☃", nested: { list: [1, null, "x"] } },
    http: { requestMethod: "GET", requestUrl: "/x?y", status: 200, latency: "0.1s" },
  };
  void logs.push(whole);
  void logs.push({ ...line(""), severity: "DEFAULT", logName: "stderr" });
  expect(await newest()).toEqual([
    { ...whole, instant: 1000n, code: ordinalCode(0) },
    { ...line(""), severity: "DEFAULT", logName: "stderr", instant: 1000n, code: ordinalCode(1) },
  ]);
});
