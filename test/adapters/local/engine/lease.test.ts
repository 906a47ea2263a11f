/** An engine without the lease: backpressure, the end of its reports, and fires that are due during the handover. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { ENGINE_FILE } from "../../../../adapters/local/engine/engine-file.ts";
import { logPath } from "../../../../adapters/local/logs/log-path.ts";
import type { StoredJob } from "../../../../adapters/local/schedules/cron-timers.ts";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { NewLogEntry } from "../../../../core/domain/logs/entry.ts";
import { minuteOf } from "../../../../core/domain/usage/metrics.ts";
import type { Timestamp } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { shiftedClock } from "../../../support/clocks/shifted-clock.ts";
import { LeasedEngines } from "../../../support/engine/leased-engines.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

const owner = "acme" as AccountId;
const name = "app" as DeploymentName;
const line = (text: string): NewLogEntry => ({ owner, service: name, severity: "INFO", logName: "stdout", text });

const countOf = (dataDir: string): unknown => {
  using db = new DatabaseSync(logPath(join(dataDir, "logs"), owner), { readOnly: true });
  return db.prepare("SELECT count(*) AS entries FROM entries").get()?.["entries"];
};

/** The number of entries of 64 KiB that fill the queue. */
const FULL = 256;
const big = "x".repeat(64 * 1024);

test("a writer waits while the queue is full and no holder is reachable, and continues when one is", async () => {
  await using engines = await LeasedEngines.open({ clock: createManualClock() });
  const [, other] = engines.all;
  engines.relay.target = undefined;
  engines.relay.cut();
  const full = Array.from({ length: FULL }, () => other?.lease.log(line(big)));
  expect(full.findIndex(Boolean)).toBe(FULL - 1);
  let continues = false;
  void full.at(-1)?.then(() => {
    continues = true;
  });
  await new Promise(setImmediate);
  expect(continues).toBe(false);
  engines.relay.target = engines.all[0]?.socket;
  await full.at(-1);
  await engines.close();
  expect(countOf(engines.dataDir)).toBe(FULL);
});

test("an engine whose log is full lets its writers continue when it releases the lease", async () => {
  await using engines = await LeasedEngines.open({ clock: createManualClock() });
  const full = Array.from({ length: FULL }, () => engines.all[0]?.lease.log(line(big))).at(-1);
  expect(full).toBeInstanceOf(Promise);
  await Promise.all([full, engines.move(1, async () => undefined)]);
  await engines.close();
  expect(countOf(engines.dataDir)).toBe(FULL);
});

test("an engine that has released the lease passes its rollups on, and one that never had it keeps them", async () => {
  const clock = createManualClock();
  await using engines = await LeasedEngines.open({ clock });
  const [first, second, third] = engines.all;
  const row = { minute: minuteOf(clock.now()), owner, name, rollup: "6:1" };
  expect(first?.lease.record([row], 10_000)).toBe(true);
  expect(third?.lease.record([row], 10_000)).toBe(false);
  await engines.move(1, async () => {
    expect(first?.lease.record([row], 10_000)).toBe(true);
  });
  expect(second?.lease.record([row], 10_000)).toBe(true);
  await engines.close();
  using db = new DatabaseSync(join(engines.dataDir, ENGINE_FILE), { readOnly: true });
  expect(db.prepare("SELECT rollup FROM rollups").all()).toEqual([{ rollup: "6:3" }]);
  // The engine without the lease observes the same services, so its time does not count.
  expect(db.prepare("SELECT sum(millis) AS millis FROM observed_minutes").get()).toEqual({ millis: 20_000 });
});

test("an engine takes a batch only when its full log has room again", async () => {
  await using engines = await LeasedEngines.open({ clock: createManualClock() });
  const reports = Array.from({ length: FULL }, () => ({ kind: "entry" as const, at: "0", entry: line(big) }));
  let isTaken = false;
  const taking = engines.all[0]?.lease.receive({ sender: "other", number: 1, reports }).then((result) => {
    isTaken = true;
    return result;
  });
  await new Promise(setImmediate);
  expect(isTaken).toBe(false);
  expect(await taking).toBe(true);
  await engines.close();
});

test("usage that cannot be written when the lease is released goes to the next holder, once", async () => {
  await using engines = await LeasedEngines.open({ clock: createManualClock() });
  const [first] = engines.all;
  const key = { owner, deployment: name, day: "2026-01-01", sku: "cpu" } as const;
  const billing = (work: (db: DatabaseSync) => unknown) => {
    using db = new DatabaseSync(join(engines.dataDir, "billing.sqlite"));
    return work(db);
  };
  first?.lease.meter([{ ...key, grains: 1n }]);
  const full = "CREATE TRIGGER full BEFORE UPDATE ON batches BEGIN SELECT RAISE(ABORT, 'disk full'); END";
  billing((db) => db.exec(full));
  first?.lease.meter([{ ...key, grains: 10n }]);
  await engines.move(1, async () => void billing((db) => db.exec("DROP TRIGGER full")));
  first?.lease.meter([{ ...key, grains: 100n }]);
  await engines.close();
  expect(billing((db) => db.prepare("SELECT grains FROM usage").all())).toEqual([{ grains: 111 }]);
  expect(new Set(first?.logged.map((text) => text.split(" {")[0]))).toEqual(
    new Set(["could not write metered usage; will retry"]),
  );
});

test("drops entries, but no usage, if writers do not wait for a full queue, and logs the loss", async () => {
  await using engines = await LeasedEngines.open({ clock: createManualClock() });
  const [, other] = engines.all;
  engines.relay.target = undefined;
  engines.relay.cut();
  const pushed = 2 * FULL + 10;
  for (let n = 0; n < pushed; n++) void other?.lease.log(line(big));
  const key = { owner, deployment: name, day: "2026-01-01" };
  other?.lease.meter([{ ...key, sku: "cpu", grains: 7n }]);
  const lost =
    other?.logged.filter((text) => /^lost log entries or other reports: .*"the queue is full"/.test(text)).length ?? 0;
  expect(lost).toBeGreaterThanOrEqual(10);
  engines.relay.target = engines.all[0]?.socket;
  await engines.close();
  expect(countOf(engines.dataDir)).toBe(pushed - lost);
  using billing = new DatabaseSync(join(engines.dataDir, "billing.sqlite"), { readOnly: true });
  expect(billing.prepare("SELECT sku, grains FROM usage").all()).toEqual([{ sku: "cpu", grains: 7 }]);
});

test("loses only an entry that JSON cannot represent", async () => {
  await using engines = await LeasedEngines.open({ clock: createManualClock() });
  const [, other] = engines.all;
  void other?.lease.log({ ...line(""), json: { big: 1n } });
  void other?.lease.log(line("after"));
  await engines.close();
  expect(countOf(engines.dataDir)).toBe(1);
  expect(other?.logged).toEqual([expect.stringMatching(/^lost log entries or other reports: /)]);
});

test("an engine that cannot reach a holder ends after ten seconds, and logs how many reports it loses", async () => {
  const clock = createManualClock();
  await using engines = await LeasedEngines.open({ clock });
  const [, other] = engines.all;
  engines.relay.target = undefined;
  engines.relay.cut();
  for (let n = 0; n < 5; n++) void other?.lease.log(line("lost"));
  let isClosed = false;
  const closing = other?.lease.close().then(() => {
    isClosed = true;
  });
  await clock.advance(9_999);
  expect(isClosed).toBe(false);
  await clock.advance(1);
  await closing;
  expect(other?.logged).toEqual([expect.stringMatching(/^lost log entries or other reports: .*"entries":5/)]);
  await engines.close();
});

const createdAt = "2026-01-01T00:00:00+00:00" as Timestamp;
const job: StoredJob = {
  owner,
  name,
  createdAt,
  token: "token",
  url: "unused",
  maxSeconds: 60,
  schedule: { cron: "* * * * *", timezone: "UTC" },
};

/** Three engines with a schedule, and its service. The clock shows 00:00:30. */
const withSchedule = async () => {
  const fires: string[] = [];
  const held: ((status: number) => void)[] = [];
  const server = createServer((request, response) => {
    fires.push(String(request.headers["x-cron-time"]).slice(11, 16));
    held.push((status) => response.writeHead(status).end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const time = createManualClock("2026-01-01T00:00:30Z");
  const clock = shiftedClock(time);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const engines = await LeasedEngines.open({ clock, url, jobs: [job] });
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await engines[Symbol.asyncDispose]();
  });
  /** Waits for requests of the schedule, and responds to the last one. */
  const respond = async (count: number, status: number) => {
    await eventually(() => expect(fires).toHaveLength(count));
    held.at(-1)?.(status);
  };
  const lastFire = () => {
    using db = new DatabaseSync(join(engines.dataDir, "engine.sqlite"), { readOnly: true });
    const row = db.prepare("SELECT fire FROM last_fires").get();
    return row === undefined ? undefined : JSON.parse(String(row["fire"]));
  };
  return { engines, time, clock, fires, respond, lastFire };
};

test("a running attempt ends in the old engine, and the new one stores its result and makes the retry", async () => {
  const { engines, time, fires, respond, lastFire } = await withSchedule();
  const [first, second] = engines.all;
  await time.advance(30_000);
  await eventually(() => expect(fires).toHaveLength(1));
  await engines.move(1, async () => undefined);
  await respond(1, 500);
  const at = "2026-01-01T00:01:00+00:00";
  await eventually(() => expect(lastFire()).toEqual({ at, status: 500, attempts: 1 }));
  expect(first?.entries.map(({ json }) => json?.["attempt"])).toEqual([1]);
  await eventually(() => expect(first?.lease.waiting).toBe(0));
  await time.advance(4_999);
  expect(fires).toHaveLength(1);
  await time.advance(1);
  await respond(2, 204);
  await eventually(() => expect(lastFire()).toEqual({ at, status: 204, attempts: 2 }));
  expect(second?.entries.map(({ json }) => json?.["attempt"])).toEqual([2]);
  await engines.close();
});

test("a late timer fires when its engine releases the lease, and not again", async () => {
  const { engines, clock, time, fires, respond } = await withSchedule();
  clock.set(31_000);
  await engines.move(1, async () => undefined);
  await respond(1, 204);
  await time.advance(58_000);
  expect(fires).toEqual(["00:01"]);
  await time.advance(1_000);
  await respond(2, 204);
  expect(fires).toEqual(["00:01", "00:02"]);
  await engines.close();
});

test("fires that were due while no engine held the lease run late, unless they are a minute late", async () => {
  const { engines, time, respond, fires } = await withSchedule();
  await engines.move(1, async () => time.advance(100_000));
  await time.advance(1000);
  await respond(1, 204);
  expect(fires).toEqual(["00:02"]);
  await engines.close();
});

test("an engine that drains cuts off a running attempt, which the new engine retries", async () => {
  const { engines, time, fires, respond } = await withSchedule();
  const [first] = engines.all;
  await time.advance(30_000);
  await eventually(() => expect(fires).toHaveLength(1));
  await engines.move(1, async () => undefined);
  let isClosed = false;
  const closing = first?.timers.close().then(() => {
    isClosed = true;
  });
  await time.advance(9_999);
  expect(isClosed).toBe(false);
  await time.advance(1);
  await closing;
  expect(first?.entries).toMatchObject([{ severity: "WARNING", json: { attempt: 1 } }]);
  await eventually(() => expect(first?.lease.waiting).toBe(0));
  await time.advance(5_000);
  await respond(2, 204);
  await engines.close();
});

test("retries of a deleted schedule are dropped", async () => {
  const { engines, time, fires, respond } = await withSchedule();
  const [first, second] = engines.all;
  await time.advance(30_000);
  await eventually(() => expect(fires).toHaveLength(1));
  second?.timers.apply([{ ...job, createdAt: "2026-01-02T00:00:00+00:00" as Timestamp }]);
  await engines.move(1, async () => undefined);
  await respond(1, 500);
  await eventually(() => expect(first?.entries).toHaveLength(1));
  await eventually(() => expect(first?.lease.waiting).toBe(0));
  await time.advance(20_000);
  expect(fires).toHaveLength(1);
  await engines.close();
});
