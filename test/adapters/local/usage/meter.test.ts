/** Usage, its days and its cost, counted exactly once. */
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadPrices } from "../../../../adapters/local/usage/prices.ts";
import { createManualClock } from "../../../../adapters/memory/manual-clock.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { NewLogEntry } from "../../../../core/domain/logs/entry.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { acme, billedRows, GiB, openBilled, sized } from "../../../support/usage/billed.ts";

const request = (fields: Partial<NewLogEntry> = {}): NewLogEntry => ({
  owner: acme,
  service: sized(1, GiB).name,
  severity: "INFO",
  logName: "requests",
  instance: "i1",
  ...fields,
});

test("charges the declared size of an instance from start to exit, exactly", async () => {
  using folder = folderWith();
  const { meter, clock, billed } = openBilled(folder.path);
  const metered = meter.started(sized(2, GiB / 2));
  await clock.advance(1500);
  metered.end();
  await clock.advance(60_000);
  metered.end();
  meter.close();
  expect(billed()).toEqual(["2026-01-01 app vCPU-second 3 0.000054", "2026-01-01 app GiB-second 0.75 0.0000015"]);
});

test("charges a frozen instance for its memory, but not for CPU", async () => {
  using folder = folderWith();
  const { meter, clock, billed } = openBilled(folder.path);
  const metered = meter.started(sized(1, GiB));
  await clock.advance(1000);
  metered.freeze();
  await clock.advance(10_000);
  meter.flush();
  await clock.advance(10_000);
  metered.thaw();
  await clock.advance(2000);
  metered.end();
  metered.freeze();
  await clock.advance(60_000);
  meter.close();
  expect(billed().map((row) => row.split(" ").slice(2, 4).join(" "))).toEqual(["vCPU-second 3", "GiB-second 23"]);
});

test("counts a running instance continuously, split by UTC day", async () => {
  using folder = folderWith();
  const { meter, clock, billed } = openBilled(folder.path, createManualClock("2026-02-28T23:59:59Z"));
  meter.started(sized(1, 3 * 1024));
  await clock.advance(500);
  meter.flush();
  expect(billed()).toEqual([
    "2026-02-28 app vCPU-second 0.5 0.000009",
    "2026-02-28 app GiB-second 0.000001430511474609375 0.00000000000286102294921875",
  ]);
  await clock.advance(86_400_000 + 1500);
  meter.close();
  const cpu = billed().filter((row) => row.includes("vCPU"));
  expect(cpu).toEqual([
    "2026-02-28 app vCPU-second 1 0.000018",
    "2026-03-01 app vCPU-second 86400 1.5552",
    "2026-03-02 app vCPU-second 1 0.000018",
  ]);
});

test("counts only requests that reached an instance", () => {
  using folder = folderWith();
  const { meter, billed } = openBilled(folder.path);
  for (const entry of [request(), request(), request({ logName: "stdout" })]) meter.served(entry);
  const { instance: _none, ...refused } = request();
  meter.served(refused);
  meter.close();
  expect(billed()).toEqual(["2026-01-01 app request 2 0"]);
});

test("continues from the file after a restart, and counts nothing again", async () => {
  using folder = folderWith();
  const clock = createManualClock();
  const first = openBilled(folder.path, clock);
  first.meter.started(sized(1, GiB));
  await clock.advance(10_000);
  first.meter.close();
  first.file.close();
  await clock.advance(50_000);
  const second = openBilled(folder.path, clock);
  const metered = second.meter.started(sized(1, GiB));
  await clock.advance(5000);
  metered.end();
  second.meter.close();
  second.meter.flush();
  expect(second.billed()[0]).toBe("2026-01-01 app vCPU-second 15 0.00027");
});

test("retries a failed write, and counts its usage once", async () => {
  using folder = folderWith();
  const { file, meter, clock, logged, billed } = openBilled(folder.path);
  meter.started(sized(1, GiB));
  await clock.advance(1000);
  const exec = (sql: string) => file.use((db) => db.exec(sql));
  exec("CREATE TRIGGER broken BEFORE UPDATE ON batches BEGIN SELECT RAISE(ABORT, 'disk full'); END");
  meter.flush();
  expect(billed()).toEqual([]);
  expect(logged).toEqual(["could not write metered usage; will retry"]);
  await clock.advance(1000);
  exec("DROP TRIGGER broken");
  for (let n = 0; n < 3; n++) meter.flush();
  expect(billed()[0]).toBe("2026-01-01 app vCPU-second 2 0.000036");
  meter.close();
});

test("sets aside a file that is damaged while it is open, and continues in a new one", async () => {
  using folder = folderWith();
  const { file, meter, clock, billed, logged, fileLogged } = openBilled(folder.path);
  meter.started(sized(1, GiB));
  await clock.advance(1000);
  meter.flush();
  file.use((db) => db.exec("PRAGMA wal_checkpoint(TRUNCATE)"));
  writeFileSync(join(folder.path, "billing.sqlite"), "not a database ".repeat(1000));
  // Without this, SQLite would read from its cache.
  file.use((db) => db.exec("PRAGMA shrink_memory"));
  await clock.advance(2000);
  meter.flush();
  expect(logged).toEqual([]);
  expect(fileLogged).toEqual(["set aside the damaged file of metered usage; the SQL table 'billing' starts empty"]);
  expect(billed()[0]).toBe("2026-01-01 app vCPU-second 2 0.000036");
  const [kept] = readdirSync(join(folder.path, "set-aside"));
  expect(readdirSync(join(folder.path, "set-aside", kept as string))).toContain("billing.sqlite");
  await clock.advance(1000);
  meter.close();
  expect(billed()[0]).toBe("2026-01-01 app vCPU-second 3 0.000054");
});

test("does not repeat a commit that succeeded but reported an error", async () => {
  using folder = folderWith();
  const { file, meter, clock, billed } = openBilled(folder.path);
  meter.started(sized(1, GiB));
  await clock.advance(1000);
  const db = file.use((opened) => opened);
  const exec = db.exec.bind(db);
  db.exec = (sql) => {
    exec(sql);
    if (sql === "COMMIT") throw new Error("the disk went away");
  };
  meter.flush();
  db.exec = exec;
  meter.flush();
  meter.close();
  expect(billed()[0]).toBe("2026-01-01 app vCPU-second 1 0.000018");
});

test("counts nothing twice if the clock is set back", async () => {
  using folder = folderWith();
  let back = 0;
  const clock = createManualClock();
  const set = { ...clock, now: () => (clock.now() - BigInt(back) * 1_000_000n) as ReturnType<typeof clock.now> };
  const { meter, billed } = openBilled(folder.path, set);
  meter.started(sized(1, GiB));
  await clock.advance(5000);
  meter.flush();
  back = 3000;
  meter.flush();
  await clock.advance(4000);
  meter.close();
  expect(billed()[0]).toBe("2026-01-01 app vCPU-second 6 0.000108");
});

test("uses a new price from then on, and separate rows for a new currency", async () => {
  using folder = folderWith();
  const list = { currency: "USD", prices: { cpu: "1", memory: "0", requests: "0" } };
  const priced = async (change: object) => {
    const path = join(folder.path, "prices.json");
    writeFileSync(path, JSON.stringify({ ...list, ...change }));
    const clock = createManualClock();
    const { file, meter, billed } = openBilled(folder.path, clock, loadPrices(path));
    meter.started(sized(1, GiB));
    await clock.advance(1000);
    meter.close();
    const rows = billed().filter((row) => row.includes("vCPU"));
    file.close();
    return rows;
  };
  expect(await priced({})).toEqual(["2026-01-01 app vCPU-second 1 1"]);
  const raised = { prices: { ...list.prices, cpu: "0.5" } };
  expect(await priced(raised)).toEqual(["2026-01-01 app vCPU-second 2 1.5"]);
  expect(await priced({ currency: "EUR" })).toEqual([
    "2026-01-01 app vCPU-second 1 1",
    "2026-01-01 app vCPU-second 2 1.5",
  ]);
});

test("returns only the account's rows, from a day on, with every field", async () => {
  using folder = folderWith();
  const { meter, clock, rows } = openBilled(folder.path);
  meter.started(sized(1, GiB));
  meter.started({ ...sized(1, GiB), owner: "beta" as AccountId });
  await clock.advance(86_400_000 + 1000);
  meter.close();
  expect(billedRows(rows, "beta" as AccountId)).toHaveLength(4);
  expect(rows.since(acme, "2026-01-02")[0]).toEqual({
    usage_start_time: "2026-01-02T00:00:00+00:00",
    usage_end_time: "2026-01-03T00:00:00+00:00",
    service: { description: "Portside" },
    sku: { description: "CPU allocated to instances" },
    usage: { amount: "1", unit: "vCPU-second" },
    cost: "0.000018",
    currency: "USD",
    resource: { name: "app" },
  });
});

test.each([
  ["{", "cannot be read"],
  ['{"currency":"dollars","prices":{"cpu":"1","memory":"1","requests":"1"}}', "currency: must be an ISO 4217 code"],
  ['{"currency":"USD","prices":{"cpu":0.1,"memory":"1","requests":"1"}}', "prices.cpu: "],
  ['{"currency":"USD","prices":{"cpu":"-1","memory":"1","requests":"1"}}', "prices.cpu: must be a price as text"],
  ['{"currency":"USD","prices":{"cpu":"1","memory":"1"}}', "prices.requests: "],
])("refuses a price list %s with a message", (text, words) => {
  using folder = folderWith({ "prices.json": text });
  expect(() => loadPrices(join(folder.path, "prices.json"))).toThrow(words);
});
