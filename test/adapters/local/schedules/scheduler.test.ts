/** The local scheduler: fires on time, retries, gives up, and handles a changed clock. */
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silent } from "../../../../adapters/local/accounts/identity.ts";
import { openEngineFile } from "../../../../adapters/local/engine/engine-file.ts";
import { CronTimers } from "../../../../adapters/local/schedules/cron-timers.ts";
import { LastFires, lastFireReader } from "../../../../adapters/local/schedules/last-fires.ts";
import { LocalScheduler } from "../../../../adapters/local/schedules/scheduler.ts";
import { openState } from "../../../../adapters/local/state/database.ts";
import { ScheduleRows } from "../../../../adapters/local/state/schedules.ts";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { NewLogEntry } from "../../../../core/domain/logs/entry.ts";
import type { CronJob } from "../../../../core/domain/schedules/cron-job.ts";
import type { Timestamp } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import type { ScheduledService } from "../../../../core/ports/scheduler.ts";
import { type Folder, folderWith } from "../../../support/archives/folders.ts";
import { shiftedClock } from "../../../support/clocks/shifted-clock.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

const MINUTE = 60_000;

let folder: Folder;
let server: Server;
let url: string;
/** The requests that the service received, and its response: a status, or undefined for none. */
let fires: IncomingHttpHeaders[];
let answers: (number | undefined)[];

beforeEach(async () => {
  folder = folderWith();
  fires = [];
  answers = [];
  server = createServer((req, res) => {
    expect([req.method, req.url]).toEqual(["POST", "/cron"]);
    fires.push(req.headers);
    const status = answers.length > 0 ? answers.shift() : 204;
    if (status !== undefined) res.writeHead(status).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  folder[Symbol.dispose]();
});

const job = (cron: string, change: Partial<CronJob> = {}): CronJob => ({
  name: "app" as DeploymentName,
  owner: "acme" as AccountId,
  schedule: { cron, timezone: "UTC" },
  token: "the-token",
  url: "unused",
  maxSeconds: 60,
  ...change,
});

const createdAt = "2026-01-01T00:00:00+00:00" as Timestamp;

const start = async (deployed: readonly CronJob[] = []) => {
  const time = createManualClock("2026-01-01T00:00:30Z");
  const clock = shiftedClock(time);
  const db = openState(folder.path);
  const rows = new ScheduleRows(db);
  const file = openEngineFile(folder.path, silent);
  const entries: NewLogEntry[] = [];
  const quiet = () => undefined;
  const logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  const timers: CronTimers = new CronTimers({
    clock,
    logger,
    log: (entry) => void entries.push(entry),
    onAttempt: (service, fire) => timers.note(service, fire),
    onPending: () => expect.unreachable(),
    urlOf: () => url,
    drainMillis: 0,
  });
  timers.start(new LastFires(file));
  const engine = {
    apply: async () => {
      timers.apply(rows.all().map((one) => ({ ...one, createdAt })));
      return { ports: {} };
    },
    fire: async (service: ScheduledService, fireId: string) => timers.request(service, fireId),
  };
  const scheduler = new LocalScheduler({ rows, engine, logger });
  await scheduler.open(deployed);
  const outcomes = () => entries.map(({ severity, json }) => [severity, json?.["attempt"], json?.["status"]]);
  /** Lets time pass, and waits for everything that it causes. */
  const pass = async (millis: number, ended: number) => {
    await time.advance(millis);
    await eventually(() => expect(entries).toHaveLength(ended));
  };
  const close = () => {
    void timers.close();
    file.close();
    db.close();
  };
  return {
    scheduler,
    clock,
    time,
    entries,
    outcomes,
    pass,
    close,
    rows,
    lastFire: () => lastFireReader(file, logger)({ ...job(""), createdAt }),
  };
};

test("a requested fire starts now, is retried, and delays no scheduled fire; its id is in the log and the result", async () => {
  answers = [500, 204, 204];
  const { scheduler, pass, entries, outcomes, close, lastFire } = await start();
  (await scheduler.put(job("5 0 * * *")))._unsafeUnwrap();
  (await scheduler.fire({ ...job(""), owner: "other" as AccountId }, "f0"))._unsafeUnwrapErr();
  expect((await scheduler.fire(job(""), "f1")).isOk()).toBe(true);
  await pass(0, 1);
  expect(lastFire()).toEqual({ at: "2026-01-01T00:00:30+00:00", status: 500, attempts: 1, fireId: "f1" });
  await pass(5000, 2);
  expect(outcomes()).toEqual([
    ["WARNING", 1, 500],
    ["INFO", 2, 204],
  ]);
  for (const { json } of entries)
    expect(json).toMatchObject({
      fire_id: "f1",
      message: expect.stringContaining("'5 0 * * *' fired on request: status"),
    });
  await pass(5 * MINUTE, 3);
  expect(times()).toEqual([...Array(2).fill("2026-01-01T00:00:30+00:00"), "2026-01-01T00:05:00+00:00"]);
  expect(lastFire()).toEqual({ at: "2026-01-01T00:05:00+00:00", status: 204, attempts: 1 });
  expect(entries.at(-1)?.json).not.toHaveProperty("fire_id");
  (await scheduler.remove(job("")))._unsafeUnwrap();
  expect((await scheduler.fire(job(""), "f2"))._unsafeUnwrapErr()).toMatchObject({ kind: "not_found" });
  close();
});

test("limits the requested fires of a schedule that have not ended, but not its scheduled fires", async () => {
  answers = [...Array(20).fill(undefined), 204];
  const { scheduler, pass, entries, close } = await start();
  (await scheduler.put(job("1 0 * * *")))._unsafeUnwrap();
  for (let count = 1; count <= 10; count++) (await scheduler.fire(job(""), `f${count}`))._unsafeUnwrap();
  const refused = {
    kind: "unavailable",
    message: "The schedule of 'app' already has 10 requested runs that have not ended. Try again when one has ended.",
    retryAfterSeconds: 5,
  };
  expect((await scheduler.fire(job(""), "f11"))._unsafeUnwrapErr()).toMatchObject(refused);
  await eventually(() => expect(fires).toHaveLength(10));
  // The first attempts fail, and the fires wait for their retry.
  server.closeAllConnections();
  await pass(0, 10);
  expect((await scheduler.fire(job(""), "f12"))._unsafeUnwrapErr()).toMatchObject(refused);
  await pass(5000, 10);
  await eventually(() => expect(fires).toHaveLength(20));
  await pass(25_000, 11);
  expect(entries.at(-1)?.json).not.toHaveProperty("fire_id");
  // These fires have no further retry, because it would be later than the scheduled fire.
  server.closeAllConnections();
  await pass(0, 21);
  expect((await scheduler.fire(job(""), "f13")).isOk()).toBe(true);
  await pass(0, 22);
  expect(entries.at(-1)?.json).toMatchObject({ fire_id: "f13" });
  close();
});

const times = () => fires.map((headers) => headers["x-cron-time"]);

test("fires POST /cron on time, with the token and the scheduled time", async () => {
  const { scheduler, pass, entries, close } = await start();
  (await scheduler.put(job("5 0 * * *")))._unsafeUnwrap();
  await pass(4 * MINUTE, 0);
  await pass(MINUTE, 1);
  expect(fires).toMatchObject([{ "x-cron-token": "the-token", "x-cron-time": "2026-01-01T00:05:00+00:00" }]);
  expect(entries).toMatchObject([
    { owner: "acme", service: "app", severity: "INFO", logName: "platform", json: { event: "cron", status: 204 } },
  ]);
  await pass(24 * 60 * MINUTE, 2);
  expect(times()).toEqual(["2026-01-01T00:05:00+00:00", "2026-01-02T00:05:00+00:00"]);
  close();
});

test("retries after a 5xx or no response after 5, 10 and 20 seconds, and then gives up", async () => {
  answers = [500, undefined, 503, 500];
  const { scheduler, pass, outcomes, close, time } = await start();
  (await scheduler.put(job("1 0 * * *", { maxSeconds: 1 })))._unsafeUnwrap();
  await pass(30_000, 1);
  await time.advance(4999);
  expect(fires).toHaveLength(1);
  await pass(1, 2);
  await pass(10_000, 3);
  await time.advance(19_999);
  expect(fires).toHaveLength(3);
  await pass(1, 4);
  await pass(60 * MINUTE, 4);
  expect(new Set(times())).toEqual(new Set(["2026-01-01T00:01:00+00:00"]));
  expect(outcomes()).toEqual([
    ["WARNING", 1, 500],
    ["WARNING", 2, undefined],
    ["WARNING", 3, 503],
    ["ERROR", 4, 500],
  ]);
  close();
});

test("stops retrying after a success, and immediately after a 4xx", async () => {
  answers = [500, 200, 404];
  const { scheduler, pass, outcomes, close } = await start();
  (await scheduler.put(job("* * * * *")))._unsafeUnwrap();
  await pass(30_000, 1);
  await pass(5000, 2);
  await pass(55_000, 3);
  await pass(30_000, 3);
  expect(outcomes()).toEqual([
    ["WARNING", 1, 500],
    ["INFO", 2, 200],
    ["ERROR", 1, 404],
  ]);
  close();
});

test("keeps the last fire's result across a new schedule and a restart, and removes it with the schedule", async () => {
  answers = [undefined, 404];
  const first = await start();
  (await first.scheduler.put(job("1 0 * * *", { maxSeconds: 1 })))._unsafeUnwrap();
  expect(first.lastFire()).toBeNull();
  await first.pass(30_000, 1);
  const at = "2026-01-01T00:01:00+00:00";
  expect(first.lastFire()).toEqual({ at, status: null, attempts: 1 });
  await first.pass(5000, 2);
  (await first.scheduler.put(job("2 0 * * *")))._unsafeUnwrap();
  first.close();
  const second = await start([job("2 0 * * *")]);
  expect(second.lastFire()).toEqual({ at, status: 404, attempts: 2 });
  (await second.scheduler.remove(job("")))._unsafeUnwrap();
  expect(second.lastFire()).toBeNull();
  second.close();
});

test("a running fire does not delay the next one", async () => {
  answers = [undefined];
  const { scheduler, pass, time, close } = await start();
  (await scheduler.put(job("* * * * *", { maxSeconds: 1800 })))._unsafeUnwrap();
  await time.advance(30_000);
  await eventually(() => expect(fires).toHaveLength(1));
  await pass(MINUTE, 1);
  expect(times()).toEqual(["2026-01-01T00:01:00+00:00", "2026-01-01T00:02:00+00:00"]);
  close();
});

test("a replaced or removed schedule neither fires nor retries", async () => {
  answers = [500];
  const { scheduler, pass, rows, close } = await start();
  (await scheduler.put(job("* * * * *")))._unsafeUnwrap();
  await pass(30_000, 1);
  (await scheduler.remove(job("")))._unsafeUnwrap();
  await pass(10 * MINUTE, 1);
  (await scheduler.put(job("0 1 * * *")))._unsafeUnwrap();
  await pass(10 * MINUTE, 1);
  await pass(60 * MINUTE, 2);
  expect(times()).toEqual(["2026-01-01T00:01:00+00:00", "2026-01-01T01:00:00+00:00"]);
  expect(rows.all()).toHaveLength(1);
  close();
});

test("fires repeated minutes again if the clock is set back, but not after a small correction", async () => {
  const { scheduler, clock, pass, close } = await start();
  (await scheduler.put(job("* * * * *")))._unsafeUnwrap();
  await pass(30_000, 1);
  clock.set(-200);
  await pass(10_000, 1);
  clock.set(-60 * MINUTE);
  await pass(MINUTE, 2);
  expect(times()).toEqual(["2026-01-01T00:01:00+00:00", "2025-12-31T23:02:00+00:00"]);
  close();
});

test("does not make up for fires that a jump forward skipped", async () => {
  const { scheduler, clock, pass, close } = await start();
  (await scheduler.put(job("*/5 * * * *")))._unsafeUnwrap();
  clock.set(32 * MINUTE);
  await pass(15_000, 0);
  await pass(3 * MINUTE, 1);
  expect(times()).toEqual(["2026-01-01T00:35:00+00:00"]);
  close();
});

test("starts exactly the schedules of the deployed services", async () => {
  const first = await start();
  (await first.scheduler.put(job("1 0 * * *")))._unsafeUnwrap();
  (await first.scheduler.put(job("1 0 * * *", { name: "stale" as DeploymentName })))._unsafeUnwrap();
  first.close();
  const second = await start([job("2 0 * * *")]);
  expect(second.rows.all().map(({ name, schedule }) => [name, schedule.cron])).toEqual([["app", "2 0 * * *"]]);
  await second.pass(10 * MINUTE, 1);
  expect(times()).toEqual(["2026-01-01T00:02:00+00:00"]);
  second.close();
});
