/** `portside cost`: exact sums of the reported usage over all pages, and notes about omissions. */
import { describe, expect, test } from "vitest";
import { type BillingRow, createMemoryProvider } from "../../../../adapters/memory/index.ts";
import { createManualClock } from "../../../../adapters/memory/manual-clock.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { coversDay, coversPeriod, isComplete } from "../../../../core/domain/usage/cost.ts";
import { missing } from "../../../../core/domain/wire/capabilities.ts";
import { timestampOf } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { readPeriod } from "../../../../hosts/cli/usage/period.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { serveApi } from "../../../support/http/api.ts";

interface Line {
  readonly service?: string;
  readonly user?: string;
  readonly model?: string;
  readonly cost?: unknown;
}

/** Two deployments that log their model costs. */
const spent = async (lines: readonly Line[], charges?: readonly BillingRow[]) => {
  const noSql = { sql: { queries: missing("no metering here"), lag_seconds: 0 } };
  const clock = createManualClock(new Date().toISOString());
  const memory = createMemoryProvider({ clock, ...(charges === undefined ? { capabilities: noSql } : {}) });
  memory.charge("acme" as AccountId, ...(charges ?? []));
  const api = await serveApi(memory.ports);
  for (const name of ["app", "bot"])
    await api.deploy({ function_name: name, volumes: "{}" }, nodeSource(helloServer()));
  const entries = lines.map(({ service = "app", user = "ann", model = "small", cost = 0.1 }) => ({
    owner: "acme" as AccountId,
    service: service as DeploymentName,
    severity: "DEFAULT",
    logName: "stdout",
    json: { level: "usage", model, user_id: user, chat_id: "c1", input: 10, output: 2, cached: 1, cost },
  }));
  const other = entries.slice(0, 1).map((entry) => ({ ...entry, json: { level: "info", cost: 1000 } }));
  expect((await memory.provider.logs.append([...entries, ...other] as never)).isOk()).toBe(true);
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key() };
  return {
    api,
    env,
    close: memory.close,
    cost: (args: readonly string[] = [], columns?: number) =>
      portside(["cost", ...args], { env, ...(columns === undefined ? {} : { columns }) }),
  };
};

/** The period of the entries, which were logged just now. */
const soon = ["-s", "1h"];

test("adds up every page of every deployment exactly", async () => {
  const lines = Array.from({ length: 2500 }, (_, n) => ({ service: n % 5 === 0 ? "bot" : "app" }));
  const { api, cost } = await spent(lines);
  await using _ = api;
  const { code, stdout } = await cost([...soon, "--json"]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    complete: true,
    currency: "USD",
    total: { cost: "250", turns: 2500, input: 25_000, output: 5000, cached: 2500, unpriced: 0 },
    groups: [
      { deployment: "app", cost: "200" },
      { deployment: "bot", cost: "50" },
    ],
    unreadable: 0,
    infrastructure: null,
  });
  expect(JSON.parse((await cost(["bot", ...soon, "--json"])).stdout).total).toMatchObject({ cost: "50", turns: 500 });
});

test("groups by user, chat and model, the most expensive first", async () => {
  const { api, cost } = await spent([
    { user: "ann", cost: 0.1 },
    { user: "ann", cost: 0.2 },
    { user: "ben", model: "large", cost: "1.000000001" },
    { user: "", cost: 0 },
  ]);
  await using _ = api;
  const groups = async (key: string) => JSON.parse((await cost([...soon, "-b", key, "--json"])).stdout).groups;
  expect(await groups("user")).toMatchObject([
    { user: "ben", cost: "1.000000001" },
    { user: "ann", cost: "0.3", turns: 2 },
    { user: null, cost: "0" },
  ]);
  expect(await groups("model")).toMatchObject([{ model: "large" }, { model: "small", cost: "0.3" }]);
  expect(await groups("chat")).toMatchObject([{ chat: "c1", cost: "1.300000001", turns: 4 }]);
});

test("prints exact numbers in a pipe, and a table with a chart and a total on a terminal", async () => {
  const { api, cost } = await spent([
    { user: "ann", cost: 0.0000001 },
    { user: "b\u001b[2Jen", cost: 3 },
  ]);
  await using _ = api;
  const piped = await cost([...soon, "-b", "user"]);
  expect(piped.stdout).toBe("b\\x1b[2Jen\t1\t10\t2\t1\t3\nann\t1\t10\t2\t1\t0.0000001\n");
  expect(piped.stderr).toContain("The cost of infrastructure is not available:");
  const { stdout } = await cost([...soon, "-b", "user"], 100);
  expect(stdout).toMatch(/ann.*<0\.0001.*▏/);
  expect(stdout).toMatch(/3\.00.*█{20}/);
  expect(stdout).toMatch(/3\.00 USD.* on models in the last 1h, in 2 turns/);
  expect(stdout).not.toContain("\u001b[2J");
});

test("reports omitted usage", async () => {
  const { api, cost } = await spent([{ cost: null }, { cost: -1 }, { cost: 1 }]);
  await using _ = api;
  const { stderr } = await cost(soon);
  expect(stderr).toContain("1 turn reported no cost.");
  expect(stderr).toContain("Omitted 1 invalid usage line.");
});

test("months are in UTC; -m alone is the current month, and may precede a name", async () => {
  const { api, cost } = await spent([{}]);
  await using _ = api;
  const from = `${new Date().toISOString().slice(0, 7)}-01T00:00:00+00:00`;
  expect(JSON.parse((await cost(["-m", "--json"])).stdout).from).toBe(from);
  expect(JSON.parse((await cost(["-m", "app", "--json"])).stdout)).toMatchObject({ from, total: { turns: 1 } });
  expect(JSON.parse((await cost(["app", "--json", "-m"])).stdout).from).toBe(from);
  const past = JSON.parse((await cost(["-m", "2024-02", "--json"])).stdout);
  expect(past).toMatchObject({
    from: "2024-02-01T00:00:00+00:00",
    to: "2024-03-01T00:00:00+00:00",
    total: { turns: 0 },
  });
});

test.each([
  [["-b", "colour"], "-b must be day, deployment, user, chat or model"],
  [["-m", "2026-13"], "-m must be a month such as 2026-01"],
  [["-m", "2199-01"], "-m 2199-01 is in the future. Pass the current month or an earlier one."],
  [["-m", "2026-01", "-s", "7d"], "Pass either -s or -m, not both."],
  [["-s", "soon"], "-s must be an age"],
  [["--until", "soon"], "--until must be an age"],
  [["-m", "2026-01", "--until", "2026-01-09"], "Pass either --until or -m, not both."],
  [["-s", "2026-01-09", "--until", "2026-01-09"], "-s must be a time before --until and before now."],
])("%j is a usage error", async (args, words) => {
  const { code, stderr } = await portside(["cost", ...args], { env: { PORTSIDE_API_KEY: "psk_x" } });
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(words) });
});

test("fails for another account's deployment", async () => {
  const { api, env } = await spent([{}]);
  await using _ = api;
  const stranger = { ...env, PORTSIDE_API_KEY: await api.key("stranger") };
  const { code, stderr } = await portside(["cost", "app"], { env: stranger });
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("belongs to another account") });
});

test("shows the cost of infrastructure next to the cost of models", async () => {
  const day = new Date().toISOString().slice(0, 10);
  const charge = (name: string | null, cost: string, from = day): BillingRow => ({
    usage_start_time: `${from}T00:00:00Z`,
    usage_end_time: `${from}T23:59:59Z`,
    service_description: "Portside",
    sku_description: "vCPU-seconds",
    usage_amount: "1",
    usage_unit: "second",
    cost,
    currency: "USD",
    resource_name: name,
  });
  const charges = [
    charge("app", "0.00000004"),
    charge("app", "0.00000006"),
    charge("gone", "2.5"),
    charge(null, "0.25"),
  ];
  const { api, env, close } = await spent([{ cost: 1 }], [...charges, charge("app", "1000", "2020-01-01")]);
  await using _ = api;
  const cost = (...args: string[]) => portside(["cost", "-m", ...args], { env });
  const lines = ["app\t1\t10\t2\t1\t1\t0.0000001", "-\t0\t0\t0\t0\t0\t0.25", "gone\t0\t0\t0\t0\t0\t2.5"];
  expect((await cost()).stdout.trim().split("\n")).toEqual(lines);
  expect(JSON.parse((await cost("app", "--json")).stdout).infrastructure).toEqual({
    currency: "USD",
    costs: [{ deployment: "app", cost: "0.0000001" }],
  });
  const days = JSON.parse((await cost("-b", "day", "--json")).stdout).infrastructure;
  expect(days).toEqual({ currency: "USD", costs: [{ day, cost: "2.7500001" }] });
  await close();
});

test("shows the charges of each currency, and never adds up different currencies", async () => {
  const day = new Date().toISOString().slice(0, 10);
  const charge = (currency: string, cost: string): BillingRow => ({
    usage_start_time: `${day}T00:00:00Z`,
    usage_end_time: `${day}T23:59:59Z`,
    service_description: "Portside",
    sku_description: "vCPU-seconds",
    usage_amount: "1",
    usage_unit: "second",
    resource_name: "app",
    cost,
    currency,
  });
  const charges = [charge("USD", "0.5"), charge("EUR", "2"), charge("EUR", "1")];
  const { api, env, cost, close } = await spent([{ cost: 1 }], charges);
  await using _ = api;
  expect((await portside(["cost", "-m"], { env })).stdout).toBe("app\t1\t10\t2\t1\t1\t3\t0.5\n");
  const table = (await cost(["-m"], 200)).stdout;
  expect(table).toMatch(/PLATFORM EUR.*PLATFORM USD/);
  const { infrastructure } = JSON.parse((await cost(["-m", "--json"])).stdout);
  expect(infrastructure.costs).toEqual([
    { deployment: "app", cost: "3", currency: "EUR" },
    { deployment: "app", cost: "0.5", currency: "USD" },
  ]);
  await close();
});

test("groups by day, with days without costs, and marks days that are not complete", async () => {
  const { api, cost } = await spent([{ cost: 1 }, { cost: 0.5 }]);
  await using _ = api;
  const today = new Date().toISOString().slice(0, 10);
  const { stdout } = await cost(["-s", "2d", "--by", "day", "--json"]);
  const { groups } = JSON.parse(stdout) as { groups: { day: string; cost: string; complete: boolean }[] };
  expect(groups.map(({ cost, complete }) => [cost, complete])).toEqual([
    ["0", false],
    ["0", true],
    ["1.5", false],
  ]);
  expect(groups.at(-1)?.day).toBe(today);
  expect((await cost(["-s", "2d", "-b", "day"], 100)).stdout).toContain(`${today} (incomplete)`);
});

describe("a period", () => {
  const now = Date.parse("2026-11-21T12:00:00Z");
  const period = readPeriod("60d", undefined, undefined, now);
  const made = (created_at: string) => ({ created_at });

  test("is complete if it begins within the retention time", () => {
    expect(isComplete(readPeriod("29d", undefined, undefined, now), made("2020-01-01T00:00:00+00:00"), 30, now)).toBe(
      true,
    );
    expect(isComplete(readPeriod("29d", undefined, undefined, now), undefined, 30, now)).toBe(true);
  });

  test("is complete if the deployment is younger than the retention time", () => {
    expect(isComplete(period, made("2026-11-01T00:00:00+00:00"), 30, now)).toBe(true);
  });

  test("a day is complete if the log covers it, although the log does not cover the whole period", () => {
    const deployments = [{ name: "app", ...made("2020-01-01T00:00:00+00:00") }];
    const source = { period: readPeriod("40d", undefined, undefined, now), deployments, retentionDays: 30, now };
    expect(coversPeriod(source)).toBe(false);
    const days = ["2026-10-21", "2026-10-23", "2026-11-20", "2026-11-21"];
    expect(days.map((day) => coversDay(source, day))).toEqual([false, true, true, false]);
  });

  test("is not complete if older entries may have existed", () => {
    expect(isComplete(period, made("2026-10-01T00:00:00+00:00"), 30, now)).toBe(false);
    expect(isComplete(period, undefined, 30, now)).toBe(false);
  });

  test("ends at --until, and begins 30 days earlier by default", () => {
    const { from, to, label } = readPeriod(undefined, "2026-11-10", undefined, now);
    expect([from, to].map(timestampOf)).toEqual(["2026-10-11T00:00:00+00:00", "2026-11-10T00:00:00+00:00"]);
    expect(label).toBe("in the 30d before 2026-11-10");
    expect(timestampOf(readPeriod("7d", "2027-01-01", undefined, now).to)).toBe("2026-11-21T12:00:00+00:00");
  });

  test("ends when the next month begins, or now in the current month", () => {
    expect(timestampOf(readPeriod(undefined, undefined, "2026-10", now).to)).toBe("2026-11-01T00:00:00+00:00");
    expect(timestampOf(readPeriod(undefined, undefined, "", now).to)).toBe("2026-11-21T12:00:00+00:00");
  });
});
