/** The thread that writes the logs keeps every promise of the writer. If it fails, another thread replaces it. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { logPath } from "../../../../adapters/local/logs/log-path.ts";
import { LocalLogs } from "../../../../adapters/local/logs/log-store.ts";
import { LogThread } from "../../../../adapters/local/logs/log-thread.ts";
import { createSystemClock } from "../../../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { behind, type LogPosition } from "../../../../core/domain/logs/cursor.ts";
import type { NewLogEntry } from "../../../../core/domain/logs/entry.ts";
import type { Instant } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { noTelemetry } from "../../../../core/ports/telemetry.ts";
import { every } from "../../../contracts/log-steps.ts";
import { recordingLogger } from "../../../support/logs/silent-logger.ts";

const acme = "acme" as AccountId;
const scope = { owner: acme, service: "app" as DeploymentName };
const dying = new URL("../../../support/logs/dying-thread.ts", import.meta.url);

let folder: string;
let lost: number[];
let stored: number;
let logged: string[];
let thread: LogThread;
let logs: LocalLogs;

const open = (script?: URL): void => {
  const recording = recordingLogger();
  logged = recording.logged;
  const telemetry = {
    ...noTelemetry,
    logLost: (entries: number) => void lost.push(entries),
    logStored: (entries: number) => {
      stored += entries;
    },
  };
  const config = { folder, clock: createSystemClock(), telemetry, retentionDays: 30, maxBytes: 2 ** 30 };
  thread = new LogThread({ ...config, logger: recording.logger }, script);
  logs = new LocalLogs({ folder, writer: thread });
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-logs-"));
  lost = [];
  stored = 0;
});
afterEach(async () => {
  await thread.close();
  await logs.close();
  rmSync(folder, { recursive: true, force: true });
});

const line = (text: string): NewLogEntry => ({ ...scope, text, severity: "INFO", logName: "stdout" });
const output = (...lines: readonly string[]) => ({
  ...scope,
  logName: "stdout" as const,
  lines: Buffer.from(lines.map((text) => `${text}\n`).join("")),
});

/** Returns the texts of all entries, oldest first. */
const texts = async (): Promise<(string | undefined)[]> => {
  const found: (string | undefined)[] = [];
  for (let place: LogPosition = behind(0n as Instant); ; ) {
    const { entries } = (await logs.after(scope, place, every(1000)))._unsafeUnwrap();
    found.push(...entries.map(({ text }) => text));
    const last = entries.at(-1);
    if (last === undefined) return found;
    place = last;
  }
};

test("stores entries and output in their order, and a read returns everything that was logged before it", async () => {
  open();
  const expected: string[] = [];
  for (let n = 0; n < 3000; n++) {
    const room = n % 3 === 0 ? thread.push(line(`${n}`)) : thread.pushOutput(output(`${n}`, `${n} again`));
    expected.push(...(n % 3 === 0 ? [`${n}`] : [`${n}`, `${n} again`]));
    await room;
  }
  expect(await texts()).toEqual(expected);
  expect(stored).toBe(expected.length);
  expect(thread.waiting).toBe(0);
  expect(await thread.isLosing()).toBe(false);
  expect(lost).toEqual([]);
});

test("an entry, output and an append each wake a reader, which then finds them", async () => {
  open();
  const { signal } = new AbortController();
  const expected: string[] = [];
  for (const [text, log] of [
    ["entry", () => thread.push(line("entry"))],
    ["output", () => thread.pushOutput(output("output"))],
    ["append", () => thread.append([line("append")])],
  ] as const) {
    const woken = logs.nextEntry(scope, { signal });
    void log();
    await woken;
    expected.push(text);
    expect(await texts()).toEqual(expected);
  }
});

test("parses structured output, and keeps its source", async () => {
  open();
  const json = '{"level":50,"msg":"é"}';
  void thread.pushOutput({ ...output(json, "next"), logName: "stderr", revision: "r1", instance: "i1" });
  const [first, second] = (await logs.newest(scope, every()))._unsafeUnwrap().entries;
  const source = { logName: "stderr", revision: "r1", instance: "i1" };
  expect(first).toMatchObject({ ...source, severity: "ERROR", json: { level: 50, msg: "é" } });
  expect(second).toMatchObject({ ...source, text: "next" });
  // A client that truncates its cursor to nanoseconds must get past every line.
  expect(second?.instant).toBe((first?.instant ?? 0n) + 1n);
});

test("a writer that is ahead of the thread waits", async () => {
  open();
  const large = output("x".repeat(300 * 1024));
  let waited: Promise<void> | undefined;
  for (let n = 0; n < 4; n++) waited = thread.pushOutput(large);
  expect(waited).toBeInstanceOf(Promise);
  await waited;
  expect(thread.pushOutput(output("there is room"))).toBeUndefined();
});

test("counts the lines of output as entries", async () => {
  open();
  void thread.pushOutput(output("one", "two", "three"));
  expect(thread.waiting).toBe(3);
  await thread.writeAll(acme);
  expect([stored, thread.waiting]).toEqual([3, 0]);
});

test("an appended entry is in the file, even after the thread has ended", async () => {
  open();
  expect((await thread.append([line("done")])).isOk()).toBe(true);
  void thread.push(line("waiting"));
  await thread.close();
  open();
  expect(await texts()).toEqual(["done", "waiting"]);
});

test("reports a log that cannot be opened", async () => {
  mkdirSync(logPath(folder, acme), { recursive: true });
  open();
  expect((await thread.append([line("done")]))._unsafeUnwrapErr().kind).toBe("unavailable");
  expect(await thread.isLosing()).toBe(true);
  expect(logged.join()).toContain("losing log entries: could not open an account's log");
});

test("another thread continues after one has failed", async () => {
  open(dying);
  expect((await thread.append([line("before")])).isOk()).toBe(true);
  void thread.push(line("die"));
  const [appended] = await Promise.all([thread.append([line("during")]), thread.writeAll(acme)]);
  expect(appended._unsafeUnwrapErr().kind).toBe("unavailable");
  expect(await thread.isLosing()).toBe(true);
  expect(logged.join()).toContain("lost log entries: the thread that writes them has failed");
  expect(lost).toEqual([1]);
  // The next thread starts a second later. Until then, calls wait.
  void thread.push(line("after"));
  expect((await thread.append([line("last")])).isOk()).toBe(true);
  expect(await texts()).toEqual(["before", "after", "last"]);
});
