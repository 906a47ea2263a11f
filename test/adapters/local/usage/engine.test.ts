/** Meters running instances from start to exit, across a restart and crashes. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, test } from "vitest";
import { createSystemClock } from "../../../../adapters/shared/runtime/system.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { shiftedClock } from "../../../support/clocks/shifted-clock.ts";
import { startLocalIn } from "../../../support/providers/local-platform.ts";
import { acme, billedRows, openBilled } from "../../../support/usage/billed.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

const amountOf = (rows: readonly string[], unit: string): number =>
  rows.filter((row) => row.includes(` ${unit} `)).reduce((sum, row) => sum + Number(row.split(" ")[3]), 0);

test("meters an instance and its requests, and nothing while it is stopped or the server is down", async () => {
  using folder = folderWith();
  const clock = shiftedClock(createSystemClock());
  const open = () => startLocalIn(folder.path, { runner: "process" }, {}, { clock });
  const first = await open();
  const url = await first.up(nodeSource(helloServer()), { cpu: 2, memory: "512Mi" });
  for (let n = 0; n < 3; n++) expect((await fetch(url)).status).toBe(200);
  clock.set(3_600_000);
  await first[Symbol.asyncDispose]();

  // An hour without the server costs nothing, and the service starts only with its first request.
  clock.set(3_600_000);
  const second = await open();
  const rows = billedRows(second.local.billing, acme);
  const cpu = amountOf(rows, "vCPU-second");
  expect(cpu).toBeGreaterThanOrEqual(7200);
  expect(cpu).toBeLessThan(7200 + 600);
  expect(amountOf(rows, "GiB-second")).toBeCloseTo(cpu / 4, 6);
  expect(amountOf(rows, "request")).toBe(3);
  clock.set(3_600_000);
  expect((await fetch(url)).status).toBe(200);
  await eventually(() => expect(amountOf(billedRows(second.local.billing, acme), "request")).toBe(4));
  expect(amountOf(billedRows(second.local.billing, acme), "vCPU-second")).toBeLessThan(7200 + 1200);
  await second[Symbol.asyncDispose]();
});

test("records the metrics of a service, which survive a restart", async () => {
  using folder = folderWith();
  const open = () => startLocalIn(folder.path, { runner: "process" });
  const first = await open();
  const began = new Date().toISOString();
  const url = await first.up(nodeSource(helloServer()));
  for (let n = 0; n < 3; n++) expect((await fetch(url)).status).toBe(200);
  await first[Symbol.asyncDispose]();
  const second = await open();
  const request = { names: "app", since: began };
  const metrics = await second.controlPlane.getMetrics({ account: acme, credentialId: "test" }, request);
  const totals = metrics
    ._unsafeUnwrap()
    .series.map(({ metric, points }): [string, number] => [
      metric,
      points.reduce<number>((sum, point) => sum + (point ?? 0), 0),
    ]);
  const total = Object.fromEntries(totals);
  expect([total["requests_2xx"], total["requests_5xx"]]).toEqual([3, 0]);
  expect(total["latency_p99"]).toBeGreaterThan(0);
  await second[Symbol.asyncDispose]();
});

test("the plan of a deploy states the price of the minimum only with the operator's price list", async () => {
  const list = { currency: "EUR", prices: { cpu: "0.0001", memory: "0.00001", requests: "0" } };
  using folder = folderWith({ "prices.json": JSON.stringify(list) });
  const dataDir = join(folder.path, "data");
  const fields = { function_name: "app", volumes: {}, cpu: 2, memory: "512Mi", min_instances: 2 };
  const price = async (options: { priceList?: string }) => {
    await using platform = await startLocalIn(dataDir, { runner: "process", ...options });
    const plan = await platform.controlPlane.plan({ account: acme, credentialId: "test" }, { fields });
    return plan._unsafeUnwrap().min_instances_price;
  };
  // 2 × (2 × 0.0001 + 0.5 × 0.00001) × 3600
  const expected = { currency: "EUR", per_hour: "1.476", per_month: "1077.48" };
  expect(await price({ priceList: join(folder.path, "prices.json") })).toEqual(expected);
  expect(await price({})).toBeNull();
});

/** Meters an instance with one vCPU, and prints the stored vCPU-seconds after each write. */
const child = `
  import { openBillingFile } from "./adapters/local/usage/billing-file.ts";
  import { Ledger } from "./adapters/local/usage/ledger.ts";
  import { Meter } from "./adapters/local/usage/meter.ts";
  import { loadPrices } from "./adapters/local/usage/prices.ts";
  import { BillingRows } from "./adapters/local/usage/billing-rows.ts";
  import { createSystemClock } from "./adapters/shared/runtime/system.ts";
  const logger = { debug() {}, info() {}, warn() {}, error(message, { cause }) { throw cause; } };
  const file = openBillingFile(process.argv[1], logger);
  const ledger = new Ledger({ file, prices: loadPrices(undefined), logger });
  const meter = new Meter({ clock: createSystemClock(), write: (increments) => ledger.write(increments) });
  meter.started({ owner: "acme", name: "app", cpu: 1, memory: 1024 ** 3 });
  for (;;) {
    meter.flush();
    const row = new BillingRows(file).ofAccount("acme").find(({ usage }) => usage.unit === "vCPU-second");
    console.log(row?.usage.amount ?? "0");
    await new Promise((resolve) => setImmediate(resolve));
  }`;

test("crashes lose nothing that was written, and nothing is counted twice", async () => {
  using folder = folderWith();
  let ran = 0;
  let safe = 0;
  for (let kill = 0; kill < 5; kill++) {
    const startedAt = performance.now();
    const metering = spawn(process.execPath, ["--input-type=module-typescript", "-e", child, folder.path], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let lines = 0;
    for await (const line of createInterface({ input: metering.stdout })) {
      safe = Math.max(safe, Number(line));
      if (++lines === 20 + kill * 7) metering.kill("SIGKILL");
    }
    if (metering.exitCode === null && metering.signalCode === null) await once(metering, "exit");
    ran += performance.now() - startedAt;
  }
  const { file, billed: rows } = openBilled(folder.path);
  const counted = amountOf(rows(), "vCPU-second");
  file.close();
  expect(counted).toBeGreaterThanOrEqual(safe);
  expect(safe).toBeGreaterThan(0);
  expect(counted).toBeLessThanOrEqual(ran / 1000);
});
