/** Cost reports: sums of all logs of the account, charges, and incomplete periods. */
import { expect, test } from "vitest";
import { type BillingRow, createManualClock } from "../../../../adapters/memory/index.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { CostReport } from "../../../../core/domain/usage/cost.ts";
import { missing } from "../../../../core/domain/wire/capabilities.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { errAsync, ResultAsync } from "../../../../core/result.ts";
import { deployed, type MemoryPlatform, startMemory } from "../../../support/providers/memory-platform.ts";

const owner = "acme" as AccountId;
const noSql = { sql: { queries: missing("no metering here"), lag_seconds: 0 } };

const spend = async ({ memory }: MemoryPlatform, lines: readonly Record<string, unknown>[], service = "app") => {
  const entries = lines.map((line) => ({
    owner,
    service: service as DeploymentName,
    severity: "DEFAULT" as const,
    logName: "stdout" as const,
    json: { level: "usage", model: "small", user_id: "ann", chat_id: "c1", input: 10, output: 2, cached: 1, ...line },
  }));
  expect((await memory.provider.logs.append(entries)).isOk()).toBe(true);
};

const charge = (name: string | null, day: string, cost: string, currency = "USD"): BillingRow => ({
  usage_start_time: `${day}T00:00:00Z`,
  usage_end_time: `${day}T23:59:59Z`,
  service_description: "Portside",
  sku_description: "vCPU-seconds",
  usage_amount: "1",
  usage_unit: "second",
  cost,
  currency,
  resource_name: name,
});

/** Advances the clock, because a report excludes entries of its last instant. */
const report = async (
  { controlPlane, principal, clock }: MemoryPlatform,
  request: Record<string, unknown> = {},
): Promise<CostReport> => {
  await clock.advance(1);
  const found = await controlPlane.getCost(principal(), request);
  return found.match(
    (value) => value,
    (error) => expect.fail(JSON.stringify(error)),
  );
};

const issuesOf = async ({ controlPlane, principal }: MemoryPlatform, request: Record<string, unknown>) => {
  const error = (await controlPlane.getCost(principal(), request))._unsafeUnwrapErr();
  return error.kind === "invalid_input" ? error.issues.map(({ path, type }) => [...path, type]) : error.kind;
};

test("adds up every page of every deployment exactly", async () => {
  const platform = startMemory({ capabilities: noSql });
  await deployed(platform);
  await deployed(platform, { function_name: "bot" });
  await spend(
    platform,
    Array.from({ length: 2500 }, () => ({ cost: 0.1 })),
  );
  await spend(platform, [{ cost: "0.000000001" }, { cost: null }, { cost: -1 }], "bot");
  expect(await report(platform)).toMatchObject({
    complete: true,
    partial: false,
    currency: "USD",
    by: "deployment",
    unreadable: 1,
    total: { cost: "250.000000001", turns: 2502, input: 25_020, unpriced: 1, infrastructure: null },
    groups: [
      { key: "app", complete: true, cost: "250", infrastructure: null },
      { key: "bot", complete: true, cost: "0.000000001", unpriced: 1 },
    ],
  });
});

test("groups by user, chat and model, the most expensive first", async () => {
  const platform = startMemory({ capabilities: noSql });
  await deployed(platform);
  await spend(platform, [{ cost: 1 }, { user_id: "ben", model: "large", cost: 3 }, { user_id: "", cost: 0.5 }]);
  const keys = async (by: string) => (await report(platform, { by })).groups.map(({ key, cost }) => [key, cost]);
  expect(await keys("user")).toEqual([
    ["ben", "3"],
    ["ann", "1"],
    [null, "0.5"],
  ]);
  expect(await keys("model")).toEqual([
    ["large", "3"],
    ["small", "1.5"],
  ]);
  expect(await keys("chat")).toEqual([["c1", "4.5"]]);
});

test("counts only lines from `since` up to `until`", async () => {
  const platform = startMemory({ clock: createManualClock("2026-03-01T00:00:00Z"), capabilities: noSql });
  await deployed(platform);
  for (const cost of [1, 10, 100]) {
    await spend(platform, [{ cost }]);
    await platform.clock.advance(3_600_000);
  }
  const period = { since: "2026-03-01T01:00:00Z", until: "2026-03-01T02:00:00Z" };
  expect(await report(platform, period)).toMatchObject({
    since: "2026-03-01T01:00:00+00:00",
    until: "2026-03-01T02:00:00+00:00",
    total: { cost: "10" },
  });
  expect((await report(platform, { until: "2030-01-01T00:00:00Z" })).total.cost).toBe("111");
});

test("groups by day, with days without costs, and marks days that are not complete", async () => {
  const platform = startMemory({ clock: createManualClock("2026-03-01T12:00:00Z"), capabilities: noSql });
  await deployed(platform);
  await spend(platform, [{ cost: 1 }]);
  await platform.clock.advance(2 * 86_400_000);
  await spend(platform, [{ cost: 2 }]);
  const { complete, groups } = await report(platform, { since: "2026-03-01T00:00:01Z", by: "day" });
  expect(complete).toBe(true);
  expect(groups.map((group) => [group.key, group.cost, group.complete])).toEqual([
    ["2026-03-01", "1", false],
    ["2026-03-02", "0", true],
    ["2026-03-03", "2", false],
  ]);
});

test("is not complete if the period begins before the retention and a deployment is old enough", async () => {
  const platform = startMemory({ clock: createManualClock("2026-01-01T00:00:00Z"), capabilities: noSql });
  await deployed(platform);
  await platform.clock.advance(40 * 86_400_000);
  await deployed(platform, { function_name: "young" });
  await spend(platform, [{ cost: 1 }]);
  await spend(platform, [{ cost: 2 }], "young");
  const since = "2026-01-02T00:00:00Z";
  const { complete, groups } = await report(platform, { since });
  expect(complete).toBe(false);
  expect(groups.map((group) => [group.key, group.complete])).toEqual([
    ["young", true],
    ["app", false],
  ]);
  const days = (await report(platform, { since, by: "day" })).groups;
  expect(days.find(({ key }) => key === "2026-01-05")?.complete).toBe(false);
  expect(days.find(({ key }) => key === "2026-02-05")?.complete).toBe(true);
});

test("a search that reaches its time limit is partial and not complete", async () => {
  const platform = startMemory({
    capabilities: noSql,
    around: ({ logs }, clock) => ({
      logs: {
        ...logs,
        after: (...args) => ResultAsync.fromSafePromise(clock.advance(30_000)).andThen(() => logs.after(...args)),
      },
    }),
  });
  await deployed(platform);
  await deployed(platform, { function_name: "second" });
  await spend(platform, [{ cost: 1 }]);
  expect(await report(platform)).toMatchObject({
    complete: false,
    partial: true,
    total: { cost: "1" },
    groups: [{ key: "app", complete: false }],
  });
});

test("adds the platform's charges by deployment and by day, one for each currency", async () => {
  const platform = startMemory({ clock: createManualClock("2026-03-03T12:00:00Z") });
  const { memory } = platform;
  await deployed(platform);
  await spend(platform, [{ cost: 1 }]);
  memory.charge(
    owner,
    charge("app", "2026-03-01", "0.00000004"),
    charge("app", "2026-03-02", "0.00000006"),
    charge("app", "2026-03-02", "5", "EUR"),
    charge("gone", "2026-03-02", "2.5"),
    charge(null, "2026-03-02", "0.25"),
    charge("app", "2020-01-01", "1000"),
  );
  await spend(platform, [{ cost: 7 }], "gone");
  const total = [
    { currency: "EUR", cost: "5" },
    { currency: "USD", cost: "2.7500001" },
  ];
  const byDeployment = await report(platform);
  expect(byDeployment.total).toMatchObject({ cost: "8", infrastructure: total });
  expect(byDeployment.groups).toMatchObject([
    { key: "gone", cost: "7", infrastructure: [{ currency: "USD", cost: "2.5" }] },
    { key: "app", cost: "1", infrastructure: [total[0], { currency: "USD", cost: "0.0000001" }] },
    { key: null, cost: "0", complete: true, infrastructure: [{ currency: "USD", cost: "0.25" }] },
  ]);
  const byDay = await report(platform, { since: "2026-03-01T00:00:00Z", by: "day" });
  expect(byDay.total.infrastructure).toEqual(total);
  expect(byDay.groups.map(({ key, infrastructure }) => [key, infrastructure])).toEqual([
    ["2026-03-01", [{ currency: "USD", cost: "0.00000004" }]],
    ["2026-03-02", [total[0], { currency: "USD", cost: "2.75000006" }]],
    ["2026-03-03", []],
  ]);
  const byUser = await report(platform, { by: "user" });
  expect(byUser.total.infrastructure).toEqual(total);
  expect(byUser.groups).toMatchObject([{ key: "ann", infrastructure: null }]);
  await memory.close();
});

test.each([
  ["timeout", "invalid_input"],
  ["too_many_rows", "invalid_input"],
  ["too_large", "invalid_input"],
  ["failed", "unavailable"],
  ["invalid_statement", "internal"],
] as const)("fails with the next step if the statement for charges ends with `%s`", async (kind, expected) => {
  const platform = startMemory({
    around: ({ sql }) => ({ sql: { ...sql, run: () => errAsync({ kind, message: "no" }) } }),
  });
  const error = (await platform.controlPlane.getCost(platform.principal(), {}))._unsafeUnwrapErr();
  expect(error.kind).toBe(expected);
  if (expected === "invalid_input") expect(error.message).toMatch(/^since: .*request a shorter period$/);
});

test("reports all issues of the period and the key", async () => {
  const platform = startMemory({ clock: createManualClock("2026-03-03T12:00:00Z"), capabilities: noSql });
  expect(await issuesOf(platform, { since: "yesterday", until: "2026-03-01", by: "colour" })).toEqual([
    ["since", "datetime_parsing"],
    ["until", "datetime_parsing"],
    ["by", "value_error"],
  ]);
  const inverted = { since: "2026-03-02T00:00:00Z", until: "2026-03-01T00:00:00Z" };
  expect(await issuesOf(platform, inverted)).toEqual([["since", "value_error"]]);
  expect(await issuesOf(platform, { since: "2026-04-01T00:00:00Z" })).toEqual([["since", "value_error"]]);
  expect(await issuesOf(platform, { since: "2025-01-01T00:00:00Z" })).toEqual([["since", "value_error"]]);
});

test("counts as a concurrent query of the account", async () => {
  const { controlPlane, principal } = startMemory({ capabilities: noSql });
  const [first, second] = await Promise.all([1, 2].map(() => controlPlane.getCost(principal(), {})));
  expect(first?._unsafeUnwrap().groups).toEqual([]);
  expect(second?._unsafeUnwrapErr().kind).toBe("rate_limited");
  expect((await controlPlane.getCost(principal(), {})).isOk()).toBe(true);
});
