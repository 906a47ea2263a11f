/** Removes old entries by age and by the size of an account's file, even for inactive accounts. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LogFile } from "../../../../adapters/local/logs/log-file.ts";
import { LogPages } from "../../../../adapters/local/logs/log-pages.ts";
import { rowOf } from "../../../../adapters/local/logs/rows.ts";
import { createManualClock, type ManualClock } from "../../../../adapters/memory/manual-clock.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { ordinalCode } from "../../../../core/domain/logs/cursor.ts";
import type { LogEntry, NewLogEntry } from "../../../../core/domain/logs/entry.ts";
import type { Instant } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { every } from "../../../contracts/log-steps.ts";
import { WrittenLogs } from "../../../support/logs/written-logs.ts";

const acme = "acme" as AccountId;
const [app, other] = ["app", "other"] as DeploymentName[] as [DeploymentName, DeploymentName];
const DAY = 86_400_000;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-retention-"));
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

const entry = (service: DeploymentName, n: number, text = `line ${n}`): LogEntry => ({
  owner: acme,
  service,
  text,
  severity: "INFO",
  logName: "stdout",
  instant: BigInt(n) as Instant,
  code: ordinalCode(0),
});

interface Opened {
  readonly write: (entries: readonly LogEntry[]) => void;
  readonly retain: (before: Instant, maxBytes: number) => void;
  readonly newest: (service: DeploymentName) => readonly LogEntry[];
  readonly after: (entry: LogEntry) => readonly LogEntry[];
}

const withFile = (work: (opened: Opened) => void): void => {
  const path = join(folder, "one.sqlite");
  const file = new LogFile(path);
  using pages = new LogPages(path);
  work({
    write: (entries) => expect(file.write(entries.map(rowOf))).toEqual([]),
    retain: (before, maxBytes) => {
      while (file.retain(before, maxBytes));
    },
    newest: (service) => pages.newest({ owner: acme, service }, 1_000_000).entries,
    after: (entry) => pages.after({ owner: acme, service: entry.service }, entry, 1000).entries,
  });
  file.close();
};

test("removes older entries of every service, to the nanosecond", () => {
  withFile(({ write, retain, newest }) => {
    write([10, 20, 30].flatMap((n) => [entry(app, n), entry(other, n)]));
    retain(20n as Instant, 2 ** 30);
    expect(newest(app)).toHaveLength(2);
    expect(newest(other).map(({ instant }) => instant)).toEqual([20n, 30n]);
    retain(31n as Instant, 2 ** 30);
    expect([...newest(app), ...newest(other)]).toEqual([]);
    retain(31n as Instant, 2 ** 30);
  });
});

const long = "x".repeat(800);

test("removes the oldest entries of a file over its size limit until it fits", () => {
  withFile(({ write, retain, newest }) => {
    write(Array.from({ length: 4000 }, (_, n) => entry(app, n, long)));
    retain(0n as Instant, 10_000_000);
    expect(newest(app), "a file within its limit keeps all entries").toHaveLength(4000);
    retain(0n as Instant, 1_800_000);
    const kept = newest(app);
    expect(kept.length).toBeGreaterThan(1000);
    expect(kept.length).toBeLessThan(2100);
    expect(kept.at(-1)?.instant).toBe(3999n);
    expect(kept[0]?.instant).toBe(BigInt(4000 - kept.length));
  });
});

test("removes the oldest entries of the account across deployments", () => {
  const quiet = "quiet" as DeploymentName;
  withFile(({ write, retain, newest }) => {
    write(Array.from({ length: 4000 }, (_, n) => entry(n % 3 === 0 ? other : app, n, long)));
    // The newest of all, and some of the oldest.
    write([1, 2, 4001, 4002, 4003].map((n) => entry(quiet, n)));
    retain(0n as Instant, 1_800_000);
    const kept = [...newest(app), ...newest(other), ...newest(quiet)].map(({ instant }) => Number(instant));
    const oldest = Math.min(...kept);
    expect(oldest).toBeGreaterThan(1000);
    expect(kept.toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 4004 - oldest }, (_, n) => oldest + n).filter((n) => n !== 4000),
    );
  });
});

test("one step removes a bounded amount, however long the lines are", () => {
  const path = join(folder, "one.sqlite");
  const file = new LogFile(path);
  using pages = new LogPages(path);
  const left = () => pages.newest({ owner: acme, service: app }, 1_000_000, undefined).entries.length;
  file.write(Array.from({ length: 3000 }, (_, n) => rowOf(entry(app, n))));
  expect(file.retain(10_000n as Instant, 2 ** 30)).toBe(true);
  expect(left()).toBe(2500);
  while (file.retain(10_000n as Instant, 2 ** 30));
  file.write(Array.from({ length: 16 }, (_, n) => rowOf(entry(app, n, "x".repeat(256 * 1024)))));
  expect(file.retain(10_000n as Instant, 2 ** 30)).toBe(true);
  expect(left()).toBe(12);
  file.close();
});

test("reuses freed space", () => {
  withFile(({ write, retain, newest }) => {
    const bytes = () => readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    const sizes: number[] = [];
    for (let round = 0; round < 12; round++) {
      write(Array.from({ length: 2000 }, (_, n) => entry(app, round * 2000 + n, long)));
      retain(BigInt(round * 2000) as Instant, 2 ** 30);
      sizes.push(bytes());
    }
    expect(newest(app)).toHaveLength(2000);
    // Each round writes two million bytes. Without reuse, the last would be three times as large as the fourth.
    expect(sizes[11]).toBeLessThan(1.2 * (sizes[3] as number));
  });
});

const open = (clock: ManualClock, retentionDays: number): WrittenLogs => {
  const logger = { debug: () => {}, info: () => {}, warn: (message: string) => expect.fail(message), error: () => {} };
  return new WrittenLogs({ folder, clock, logger, retentionDays, maxBytes: 2 ** 30 });
};

test("a running store removes entries even for accounts without activity since its start", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  const clock = createManualClock();
  const line = (owner: AccountId): NewLogEntry => ({
    owner,
    service: app,
    text: "x",
    severity: "INFO",
    logName: "stdout",
  });
  const quiet = "quiet" as AccountId;
  const first = open(clock, 3);
  for (const owner of [acme, quiet]) void first.push(line(owner));
  await first.close();

  const second = open(clock, 3);
  const left = async (owner: AccountId) =>
    (await second.newest({ owner, service: app }, every(10)))._unsafeUnwrap().entries.length;
  await clock.advance(2 * DAY);
  void second.push(line(acme));
  await vi.advanceTimersByTimeAsync(11 * 60_000);
  expect(await left(acme)).toBe(2);
  await clock.advance(1.5 * DAY);
  await vi.advanceTimersByTimeAsync(11 * 60_000);
  expect(await left(acme)).toBe(1);
  expect(await left(quiet)).toBe(0);
  await second.close();
});

test("an unreadable file of an account does not stop the removal for others", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  const clock = createManualClock();
  const warnings: string[] = [];
  const warn = (message: string) => void warnings.push(message);
  const logger = { debug: () => {}, info: () => {}, warn, error: () => {} };
  const logs = new WrittenLogs({ folder, clock, logger, retentionDays: 3, maxBytes: 2 ** 30 });
  for (const name of ["0", "zzz"]) mkdirSync(join(folder, `${name}.sqlite`));
  const line: NewLogEntry = { owner: acme, service: app, text: "x", severity: "INFO", logName: "stdout" };
  expect((await logs.append([line])).isOk()).toBe(true);
  await clock.advance(4 * DAY);
  await vi.advanceTimersByTimeAsync(11 * 60_000);
  expect((await logs.newest({ owner: acme, service: app }, every(10)))._unsafeUnwrap().entries).toEqual([]);
  const twice = Array.from({ length: 2 }, () => "could not remove old log entries");
  await expect.poll(() => warnings).toEqual(twice);
  await logs.close();
});

test("a follower continues after the removed entries, with the rest", () => {
  withFile(({ write, retain, newest, after }) => {
    write([10, 20, 30, 40].map((n) => entry(app, n)));
    const [first] = newest(app);
    retain(30n as Instant, 2 ** 30);
    expect(after(first as LogEntry).map(({ text }) => text)).toEqual(["line 30", "line 40"]);
  });
});
