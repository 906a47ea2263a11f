/** Entries reach the disk in batches, soon, completely, and with backpressure. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LogFile } from "../../../../adapters/local/logs/log-file.ts";
import { LogPages } from "../../../../adapters/local/logs/log-pages.ts";
import { rowOf } from "../../../../adapters/local/logs/rows.ts";
import { createSystemClock } from "../../../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { ordinalCode } from "../../../../core/domain/logs/cursor.ts";
import type { NewLogEntry } from "../../../../core/domain/logs/entry.ts";
import type { Instant } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { noTelemetry } from "../../../../core/ports/telemetry.ts";
import { every } from "../../../contracts/log-steps.ts";
import { WrittenLogs } from "../../../support/logs/written-logs.ts";

const acme = "acme" as AccountId;
const app = "app" as DeploymentName;
const scope = { owner: acme, service: app };

let folder: string;
let logs: WrittenLogs;
let complaints: string[];
let lost: number[];
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  folder = mkdtempSync(join(tmpdir(), "portside-logs-"));
  complaints = [];
  lost = [];
  const complain = (message: string) => void complaints.push(message);
  const logger = { debug: complain, info: complain, warn: complain, error: complain };
  const telemetry = { ...noTelemetry, logLost: (entries: number) => void lost.push(entries) };
  const clock = createSystemClock();
  logs = new WrittenLogs({ folder, clock, logger, telemetry, retentionDays: 30, maxBytes: 2 ** 30 });
});
afterEach(async () => {
  await logs.close();
  vi.useRealTimers();
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

const line = (text: string): NewLogEntry => ({ ...scope, text, severity: "INFO", logName: "stdout" });

/** Advances the time until the condition holds, because the writer pauses between its batches. */
const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await vi.advanceTimersByTimeAsync(1);
};

/** The number of entries that another process would see. */
const onDisk = (): number => {
  const file = readdirSync(folder).find((name) => name.endsWith(".sqlite"));
  if (file === undefined) return 0;
  const db = new DatabaseSync(join(folder, file), { readOnly: true });
  const { n } = db.prepare("SELECT count(*) AS n FROM entries").get() as { n: number };
  db.close();
  return n;
};

test("writes entries within 200 ms", async () => {
  void logs.push(line("one"));
  await vi.advanceTimersByTimeAsync(150);
  void logs.push(line("two"));
  expect(onDisk()).toBe(0);
  await vi.advanceTimersByTimeAsync(50);
  expect(onDisk()).toBe(2);
  void logs.push(line("three"));
  await vi.advanceTimersByTimeAsync(200);
  expect(onDisk()).toBe(3);
});

test("writes many entries in batches, with one transaction each", async () => {
  const write = vi.spyOn(LogFile.prototype, "write");
  for (let n = 0; n < 3500; n++) void logs.push(line(String(n)));
  await until(() => onDisk() === 3500);
  expect(write.mock.calls.map(([entries]) => entries.length)).toEqual(Array(70).fill(50));
});

test("reading sees everything that was appended before, and closing writes it", async () => {
  void logs.push(line("pushed"));
  expect((await logs.append([line("appended"), line("too")])).isOk()).toBe(true);
  const seen = (await logs.newest(scope, every(10)))._unsafeUnwrap().entries.map(({ text }) => text);
  expect(seen).toEqual(["pushed", "appended", "too"]);
  void logs.push(line("last"));
  await logs.close();
  expect(onDisk()).toBe(4);
});

test("applies backpressure to writers, loses nothing, and resumes them", async () => {
  let held: Promise<void> | undefined;
  let sent = 0;
  while (held === undefined) held = logs.push(line(String(sent++)));
  expect(sent).toBe(20_000);
  // Other writers wait for the same promise.
  expect(logs.push(line(String(sent++)))).toBe(held);
  let free = false;
  void held.then(() => {
    free = true;
  });
  await vi.advanceTimersByTimeAsync(199);
  expect(free).toBe(false);
  while (!free) {
    expect(onDisk()).toBeLessThanOrEqual(10_001);
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(onDisk()).toBeGreaterThan(10_000);
  expect(logs.push(line(String(sent++)))).toBeUndefined();
  logs.flush();
  expect(onDisk()).toBe(sent);
  const newest = (await logs.newest(scope, every()))._unsafeUnwrap().entries.map(({ text }) => Number(text));
  expect(newest).toEqual(Array.from({ length: 1000 }, (_, n) => sent - 1000 + n));
  expect(complaints).toEqual([]);
});

test("long lines cause backpressure sooner, and are written a few at a time", async () => {
  const write = vi.spyOn(LogFile.prototype, "write");
  const long = "x".repeat(256 * 1024);
  let held: Promise<void> | undefined;
  let sent = 0;
  for (; held === undefined; sent++) held = logs.push(line(long));
  expect(sent).toBe(64);
  let free = false;
  void held.then(() => {
    free = true;
  });
  await vi.advanceTimersByTimeAsync(200);
  expect(free).toBe(false);
  await until(() => onDisk() === 64);
  expect(free).toBe(true);
  expect(new Set(write.mock.calls.map(([rows]) => rows.length))).toEqual(new Set([4]));
});

test("reading writes waiting entries in batches, and yields to the event loop between them", async () => {
  const write = vi.spyOn(LogFile.prototype, "write");
  for (let n = 0; n < 2500; n++) void logs.push(line(String(n)));
  const page = logs.newest(scope, every(1));
  expect(write).toHaveBeenCalledTimes(1);
  expect((await page)._unsafeUnwrap().entries.map(({ text }) => text)).toEqual(["2499"]);
  expect(write.mock.calls.map(([rows]) => rows.length)).toEqual(Array(50).fill(50));
});

test("writes accounts round-robin", async () => {
  const write = vi.spyOn(LogFile.prototype, "write");
  for (let n = 0; n < 3000; n++) void logs.push(line(String(n)));
  void logs.push({ ...line("quiet"), owner: "quiet" as AccountId });
  await until(() => write.mock.calls.length === 3);
  expect(write.mock.calls.map(([rows]) => rows.length)).toEqual([50, 1, 50]);
});

test("loses only an entry that cannot be written, and reports it", async () => {
  let deep: unknown = 1;
  for (let level = 0; level < 100_000; level++) deep = [deep];
  void logs.push(line("before"));
  void logs.push({ ...scope, severity: "INFO", logName: "stdout", json: { deep } });
  expect((await logs.append([{ ...line(""), json: { big: 1n } }])).isOk()).toBe(true);
  void logs.push(line("behind"));
  expect((await logs.newest(scope, every(10)))._unsafeUnwrap().entries.map(({ text }) => text)).toEqual([
    "before",
    "behind",
  ]);
  expect(complaints).toHaveLength(2);
});

test("a refused row does not lose the others of its batch", () => {
  const path = join(folder, "one.sqlite");
  const file = new LogFile(path);
  const row = (ns: bigint) => rowOf({ ...line(String(ns)), instant: ns as Instant, code: ordinalCode(0) });
  expect(file.write([row(1n), row(1n), row(2n)])).toHaveLength(1);
  file.close();
  using pages = new LogPages(path);
  expect(pages.newest(scope, 10).entries.map(({ text }) => text)).toEqual(["1", "2"]);
});

test("rejects appended entries that the file loses", async () => {
  vi.spyOn(LogFile.prototype, "write").mockImplementationOnce(() => {
    throw new Error("database or disk is full");
  });
  expect((await logs.append([line("lost")]))._unsafeUnwrapErr().kind).toBe("unavailable");
  vi.spyOn(LogFile.prototype, "write").mockImplementationOnce(() => [new Error("the row is invalid")]);
  expect((await logs.append([line("refused")]))._unsafeUnwrapErr().kind).toBe("unavailable");
  expect((await logs.append([line("kept")])).isOk()).toBe(true);
});

test("loses and reports a batch if the file cannot be written, and writes the next one", async () => {
  const write = vi.spyOn(LogFile.prototype, "write").mockImplementationOnce(() => {
    throw new Error("database or disk is full");
  });
  void logs.push(line("lost"));
  await vi.advanceTimersByTimeAsync(200);
  expect(complaints).toEqual(["lost log entries: could not write the log"]);
  expect(lost).toEqual([1]);
  void logs.push(line("kept"));
  await vi.advanceTimersByTimeAsync(200);
  expect(write).toHaveBeenCalledTimes(2);
  expect((await logs.newest(scope, every(10)))._unsafeUnwrap().entries.map(({ text }) => text)).toEqual(["kept"]);
});
