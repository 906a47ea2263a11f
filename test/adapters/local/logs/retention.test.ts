/** Old entries go: by age, and by the size of an account's file, also of accounts that are quiet. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LogFile } from "../../../../adapters/local/logs/file.ts";
import { LocalLogs } from "../../../../adapters/local/logs/store.ts";
import { createManualClock, type ManualClock } from "../../../../adapters/memory/manual-clock.ts";
import type { AccountId } from "../../../../core/domain/account.ts";
import type { Instant } from "../../../../core/domain/instant.ts";
import { ordinalCode } from "../../../../core/domain/log-cursor.ts";
import type { LogEntry, NewLogEntry } from "../../../../core/domain/log-entry.ts";
import type { DeploymentName } from "../../../../core/domain/names.ts";
import { every } from "../../../contracts/log-steps.ts";

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
  ...{ owner: acme, service, text, severity: "INFO", logName: "stdout", instant: BigInt(n) as Instant },
  code: ordinalCode(0),
});

const withFile = (work: (file: LogFile, count: (service: DeploymentName) => number) => void): void => {
  const file = new LogFile(join(folder, "one.sqlite"));
  work(file, (service) => file.newest({ owner: acme, service }, 1_000_000).length);
  file.close();
};

test("what is older goes, of every service, to the nanosecond", () => {
  withFile((file, count) => {
    file.write([10, 20, 30].flatMap((n) => [entry(app, n), entry(other, n)]));
    file.retain(20n as Instant, 2 ** 30);
    expect(count(app)).toBe(2);
    expect(file.newest({ owner: acme, service: other }, 10).map(({ instant }) => instant)).toEqual([20n, 30n]);
    file.retain(31n as Instant, 2 ** 30);
    expect([count(app), count(other)]).toEqual([0, 0]);
    file.retain(31n as Instant, 2 ** 30);
  });
});

test("over its size a file loses the oldest entries until it fits, and keeps the newest", () => {
  withFile((file, count) => {
    const long = "x".repeat(800);
    file.write(Array.from({ length: 4000 }, (_, n) => entry(app, n, long)));
    file.write(Array.from({ length: 40 }, (_, n) => entry(other, n, long)));
    file.retain(0n as Instant, 10_000_000);
    expect(count(app), "under its size nothing goes").toBe(4000);
    file.retain(0n as Instant, 1_800_000);
    const kept = file.newest({ owner: acme, service: app }, 10_000);
    expect(kept.length).toBeGreaterThan(1000);
    expect(kept.length).toBeLessThan(2100);
    expect(kept.at(-1)?.instant).toBe(3999n);
    expect(kept[0]?.instant).toBe(BigInt(4000 - kept.length));
    expect(count(other)).toBeGreaterThan(0);
  });
});

test("space that was freed is used again", () => {
  withFile((file) => {
    const long = "x".repeat(800);
    const fill = (from: number) => file.write(Array.from({ length: 2000 }, (_, n) => entry(app, from + n, long)));
    const size = () => readdirSync(folder).length;
    for (let round = 0; round < 5; round++) {
      fill(round * 2000);
      file.retain(BigInt(round * 2000) as Instant, 2 ** 30);
    }
    expect(file.newest({ owner: acme, service: app }, 10_000).length).toBe(2000);
    expect(size()).toBeLessThanOrEqual(3);
  });
});

const open = (clock: ManualClock, retentionDays: number): LocalLogs => {
  const logger = { debug: () => {}, info: () => {}, warn: (message: string) => expect.fail(message), error: () => {} };
  return new LocalLogs({ folder, clock, logger, retentionDays, maxBytes: 2 ** 30 });
};

test("a running store does so by itself, also for accounts that have been quiet since its start", async () => {
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

test("who follows goes on behind the cut, with what is left", () => {
  withFile((file) => {
    file.write([10, 20, 30, 40].map((n) => entry(app, n)));
    const [first] = file.newest({ owner: acme, service: app }, 4);
    file.retain(30n as Instant, 2 ** 30);
    const left = file.after({ owner: acme, service: app }, first as LogEntry, 10);
    expect(left.map(({ text }) => text)).toEqual(["line 30", "line 40"]);
  });
});
