/** SQL on Athena: which rows a statement sees, the translated statement, and calls that fail or take too long. */

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ownerDigits } from "../../../../adapters/aws/accounts/owner-digits.ts";
import type { AwsClients } from "../../../../adapters/aws/clients.ts";
import { createAwsLogs } from "../../../../adapters/aws/logs/store.ts";
import { streamPrefixOf } from "../../../../adapters/aws/logs/streams.ts";
import type { AwsSql } from "../../../../adapters/aws/sql/engine.ts";
import { failureOf } from "../../../../adapters/aws/sql/failures.ts";
import { awsSqlQueries, createAwsSql } from "../../../../adapters/aws/sql/index.ts";
import { toTrino } from "../../../../adapters/aws/sql/trino/translate.ts";
import { googleType, parseType } from "../../../../adapters/aws/sql/types.ts";
import { accountDigest } from "../../../../adapters/shared/accounts/account-digest.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { SqlValue } from "../../../../core/domain/sql/answer.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { isSqlFailure, type SqlLimits } from "../../../../core/ports/sql-engine.ts";
import { COUNT_LOGS, statementTests } from "../../../clouds/sql.ts";
import { fixedClients, runtimeDeps } from "../../../clouds/subject.ts";
import { every } from "../../../contracts/log-steps.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import { type FakeAthena, startFakeAthena } from "../../../fakes/aws/athena/server.ts";
import { type FakeCloudWatch, startFakeCloudWatch } from "../../../fakes/aws/logs/server.ts";
import { awsConfig } from "../../../fakes/aws/test-config.ts";
import type { FaultKind } from "../../../fakes/faults.ts";
import { hostileStatements } from "../../../support/sql/hostile-sql.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

const acme = { owner: "acme" as AccountId };
const plenty: SqlLimits = { timeoutMs: 60_000, rows: 1000, bytes: 1024 * 1024 };
const [START, LOOK, RESULTS, STOP] = [
  "StartQueryExecution",
  "GetQueryExecution",
  "GetQueryResults",
  "StopQueryExecution",
];
let logging: FakeCloudWatch;
let fake: FakeAthena;
const engines: AwsSql[] = [];
const engine = (change: object = {}): AwsSql => {
  const { workGroup: athenaWorkgroup, logTable, billingTable } = fake;
  const config = { ...awsConfig, athenaWorkgroup, logTable, billingTable, ...change };
  const made = createAwsSql(config, fixedClients<AwsClients>({ athena: fake.client }), runtimeDeps());
  engines.push(made);
  return made;
};
let sql: AwsSql;

const say = (owner: string, line: string, service = "app") =>
  logging.ingest({
    stream: `${streamPrefixOf(owner as AccountId, service as DeploymentName)}app-00001/app/task-1`,
    line,
  });

beforeAll(async () => {
  logging = await startFakeCloudWatch(runtimeDeps());
  fake = await startFakeAthena({ events: logging.events, pageRows: 3 });
  sql = engine();
  for (const [owner, line] of [
    ["acme", "mine"],
    ["acme", "also mine"],
    ["other", "theirs"],
  ] as const)
    say(owner, line);
});
afterEach(() => {
  fake.faults.clear();
  fake.slowDown(0);
  fake.cutOff(undefined);
});
afterAll(async () => {
  await Promise.all(engines.map((one) => one.close()));
  await fake.close();
  await logging.close();
});

const rowsOf = async (statement: string, on = sql, scope = acme): Promise<(readonly SqlValue[])[]> => {
  const { rows } = await expectOk(on.run(scope, statement, plenty));
  return (await Array.fromAsync(rows)).flatMap((row) => (isSqlFailure(row) ? [] : [row]));
};
const failedWith = (statement: string, limits: Partial<SqlLimits> = {}, on = sql) =>
  expectError(on.run(acme, statement, { ...plenty, ...limits }));

describe("a statement", () => {
  statementTests((statement) => rowsOf(statement));

  test("preserves the order of its rows, also with record columns", async () => {
    const texts = "SELECT text_payload AS t, resource FROM logs ORDER BY t DESC";
    expect((await rowsOf(texts)).map(([text]) => text)).toEqual(["mine", "also mine"]);
    expect((await rowsOf(texts)).map(([, resource]) => resource)).toEqual(
      Array(2).fill({
        type: "cloud_run_revision",
        labels: { service_name: "app", revision_name: "app-00001", instance_id: "task-1" },
      }),
    );
    const all = await expectOk(sql.run(acme, "SELECT * FROM logs ORDER BY text_payload", plenty));
    expect(all.columns.map(({ name, type }) => `${name} ${type}`)).toEqual([
      ...["timestamp TIMESTAMP", "severity STRING", "log_name STRING", "insert_id STRING"],
      ...["resource STRUCT<type STRING, labels JSON>", "json_payload JSON", "text_payload STRING", "http_request JSON"],
    ]);
    expect((await Array.fromAsync(all.rows)).map((row) => (row as SqlValue[])[6])).toEqual(["also mine", "mine"]);
  });

  test("groups by column aliases, and reads JSON fields with dots", async () => {
    for (const user of ["ann", "bob", "ann"]) say("json", JSON.stringify({ user: { id: user }, n: 2 }));
    const statement = `SELECT JSON_VALUE(json_payload.user.id) AS u, COUNT(*) AS n, SUM(INT64(json_payload.n)) / 3 AS m
      FROM logs GROUP BY u HAVING n > 1 ORDER BY u`;
    expect(await rowsOf(statement, sql, { owner: "json" as AccountId })).toEqual([["ann", 2, 4 / 3]]);
  });

  test("returns the severities that the log returns", async () => {
    const owner = "loud" as AccountId;
    const lines = [
      ...['{"level":"WARN"}', '{"level":30}', '{"level":60}', '{"level":5}', '{"severity":"err"}', '{"a":1}', "plain"],
      ...['{"severity":"alert","level":10}', '{"level":"usage"}', '{"level":"none"}', '{"level":"default"}', "{no"],
    ];
    for (const text of lines) say(owner, text);
    const logs = createAwsLogs(awsConfig, fixedClients<AwsClients>({ logs: logging.client }), runtimeDeps());
    const { entries } = await expectOk(logs.newest({ owner, service: "app" as DeploymentName }, every()));
    const rows = await rowsOf("SELECT severity FROM logs ORDER BY insert_id", sql, { owner });
    const count = (all: readonly unknown[]) => JSON.stringify(all.map(String).toSorted());
    expect(count(rows.flat())).toBe(count(entries.map(({ severity }) => severity)));
  });

  test("is rejected before anything is sent if it breaks the statement rule", async () => {
    for (const statement of [
      ...Object.values(hostileStatements).flat(),
      "WITH logs AS (SELECT 1 AS a) SELECT a FROM logs",
    ]) {
      const { kind } = await failedWith(statement);
      expect(kind, statement.slice(0, 60)).toBe("invalid_statement");
    }
    expect(fake.faults.log).toEqual([]);
  });

  test("is sent with no table except the account's views", async () => {
    const names = fake
      .queries()
      .flatMap((query) => [...query.matchAll(/"AwsDataCatalog"\."\w+"\."\w+"/g)].map(([name]) => name));
    expect(new Set(names)).toEqual(new Set(['"AwsDataCatalog"."portside"."logs"', '"AwsDataCatalog"."costs"."cur2"']));
    for (const query of fake.queries()) expect(query).toMatch(/starts_with\(l\.logstream, '[0-9a-f]{32}\/'\)/);
  });

  test("fails with a message that reveals no names of the platform or the engine, and no values of a row", async () => {
    expect(await failedWith("SELECT\n no_such FROM logs")).toEqual({
      kind: "invalid_statement",
      message: "Column 'no_such' cannot be resolved",
    });
    const status = (type: number, message: string) => ({
      State: "FAILED",
      AthenaError: { ErrorCategory: 2, ErrorType: type, ErrorMessage: message },
    });
    expect(failureOf(status(1001, "INVALID_CAST_ARGUMENT: Cannot cast 'their secret'"), [], true)).toEqual({
      kind: "failed",
      message: "a string cannot be cast to the type",
    });
    expect(JSON.stringify(failureOf(status(1000, "their secret"), [], true))).not.toContain("secret");
    expect(failureOf(status(1006, "x: Athena's a.b.c"), ["a.b.c"], false)).toEqual({
      kind: "invalid_statement",
      message: "x: the engine's the table",
    });
    expect(failureOf(status(5, "exhausted"), [], true)).toMatchObject({ kind: "failed" });
    expect(failureOf({ State: "FAILED", AthenaError: { ErrorCategory: 1, ErrorType: 100 } }, [], true)).toMatchObject({
      kind: "unavailable",
    });
  });

  test.each([
    ["SELECT STRUCT(severity AS s) AS v FROM logs", "STRUCT"],
    ["SELECT * EXCEPT (severity) FROM logs", "EXCEPT"],
    ["SELECT FORMAT_TIMESTAMP(severity, timestamp) AS v FROM logs", "FORMAT_TIMESTAMP"],
    ["SELECT FORMAT_TIMESTAMP('%Q', timestamp) AS v FROM logs", "%Q"],
  ])("fails with the name of the part that Athena's dialect does not support: %s", async (statement, word) =>
    expect(await failedWith(statement)).toMatchObject({
      kind: "invalid_statement",
      message: expect.stringContaining(word),
    }),
  );
});

describe("the translation", () => {
  const sent = (text: string) => toTrino(text, { x: "SELECT 1" }, []).statement.slice("WITH x AS (SELECT 1) ".length);
  test.each([
    ["SELECT 7 / 2 AS v", "SELECT CAST(7 AS DOUBLE) / 2 AS v"],
    ["SELECT 0.1 AS v", "SELECT 0.1E0 AS v"],
    ["SELECT REGEXP_REPLACE('a', r'(a)', r'\\1$') AS v", "SELECT (REGEXP_REPLACE('a', '(a)', '$1\\$')) AS v"],
    ["SELECT FORMAT_TIMESTAMP('%F %T', timestamp) AS v", "SELECT (DATE_FORMAT(timestamp, '%Y-%m-%d %H:%i:%s')) AS v"],
    [
      "SELECT TIMESTAMP '2026-01-31 10:00+01' AS v",
      "SELECT (CAST('2026-01-31 09:00:00.000000 UTC' AS TIMESTAMP(6) WITH TIME ZONE)) AS v",
    ],
    ["SELECT json_payload.a[0].b AS v FROM logs", "SELECT (JSON_EXTRACT(json_payload, '$.a[0].b')) AS v FROM logs"],
    ["SELECT ARRAY(SELECT severity FROM logs) AS v", "SELECT (SELECT ARRAY_AGG(severity) FROM logs) AS v"],
    [
      "SELECT b'\\x01' AS v, CAST('inf' AS FLOAT64) AS w",
      "SELECT (FROM_HEX('01')) AS v, CAST('Infinity' AS DOUBLE) AS w",
    ],
  ])("%s", (text, wanted) => expect(sent(text)).toBe(wanted));

  test.each([
    ["array(integer)", "ARRAY<INT64>"],
    [
      "row(y varchar(1), z array(row(a decimal(38,9), b timestamp(3) with time zone)))",
      "STRUCT<y STRING, z ARRAY<STRUCT<a NUMERIC, b TIMESTAMP>>>",
    ],
    ["timestamp(6) with time zone", "TIMESTAMP"],
    ['row("a b" json)', "STRUCT<a b JSON>"],
  ])("maps the type %s", (trino, google) => expect(googleType(parseType(trino))).toBe(google));
});

describe("billing", () => {
  const cost = (day: string, owner: string, amount: number) => ({
    line_item_usage_start_date: `${day}T03:00:00`,
    line_item_product_code: "AmazonECS",
    line_item_usage_type: "EU-Fargate-vCPU-Hours",
    line_item_usage_amount: amount,
    pricing_unit: "hours",
    line_item_unblended_cost: amount / 10,
    line_item_currency_code: "USD",
    resource_tags: { user_portside_owner: accountDigest(owner as AccountId), user_portside_service: "app" },
  });
  test("has one row per SKU and day, of this account only", async () => {
    for (const one of [cost("2026-01-30", "acme", 1), cost("2026-01-31", "acme", 2), cost("2026-01-31", "acme", 3)])
      fake.charge(one);
    fake.charge(cost("2026-01-31", "other", 100));
    const statement = `SELECT usage_start_time, usage_end_time, usage.amount, cost, currency, resource.name, service.description
      FROM billing ORDER BY usage_start_time`;
    expect(await rowsOf(statement)).toEqual([
      ["2026-01-30T00:00:00+00:00", "2026-01-31T00:00:00+00:00", "1", "0.1", "USD", "app", "AmazonECS"],
      ["2026-01-31T00:00:00+00:00", "2026-02-01T00:00:00+00:00", "5", "0.5", "USD", "app", "AmazonECS"],
    ]);
  });
  test("includes the cost of the account's file systems, without a deployment", async () => {
    const files = { user_portside_owner: ownerDigits("acme" as AccountId) };
    fake.charge({ ...cost("2026-02-01", "acme", 10), line_item_product_code: "AmazonS3Files", resource_tags: files });
    const found = await rowsOf("SELECT cost, resource.name FROM billing WHERE service.description = 'AmazonS3Files'");
    expect(found).toEqual([["1", null]]);
  });
  test("is reported as missing if it is not configured, and logs still work", async () => {
    const without = engine({ billingTable: undefined });
    expect(await rowsOf(COUNT_LOGS, without)).toEqual([[2]]);
    expect(await failedWith("SELECT COUNT(*) AS n FROM billing", {}, without)).toMatchObject({
      kind: "invalid_statement",
      message: expect.stringContaining("billingTable"),
    });
  });
});

describe("limits", () => {
  test("names the stack's parameter if a query exceeds the work group's byte limit", async () => {
    fake.cutOff("Query cancelled! : Bytes scanned limit was exceeded");
    expect(await failedWith(COUNT_LOGS)).toMatchObject({
      kind: "failed",
      message: expect.stringContaining("SqlMostBytes"),
    });
  });

  test("stops a query at its deadline, and fails with `timeout`", async () => {
    await rowsOf(COUNT_LOGS);
    fake.faults.clear();
    fake.slowDown(60_000);
    expect(await failedWith(COUNT_LOGS, { timeoutMs: 1500 })).toEqual({ kind: "timeout" });
    await eventually(() => expect(fake.faults.count(STOP as string)).toBe(1));
  });

  test("stops a query after its client has disconnected", async () => {
    fake.slowDown(20_000);
    const gone = new AbortController();
    const run = sql.run(acme, COUNT_LOGS, plenty, { signal: gone.signal });
    await eventually(() => expect(fake.faults.count(LOOK as string)).toBeGreaterThan(0));
    gone.abort();
    expect(await expectError(run)).toMatchObject({ kind: "unavailable" });
    await eventually(() => expect(fake.faults.count(STOP as string)).toBe(1));
  });
});

describe("calls", () => {
  test("runs two queries, the first without rows, and takes one call per page", async () => {
    await rowsOf(COUNT_LOGS);
    const kinds = fake.faults.log.filter((one, n) => one !== LOOK || fake.faults.log[n - 1] !== LOOK);
    expect(kinds).toEqual([START, LOOK, RESULTS, START, LOOK, RESULTS]);
    expect(fake.queries().at(-2)).toMatch(/^SELECT \* FROM \(.*\) LIMIT 0$/s);
    fake.faults.clear();
    await rowsOf("SELECT x FROM UNNEST([1, 2, 3, 4, 5, 6, 7]) AS x");
    expect(fake.faults.count(RESULTS as string)).toBe(1 + 3);
    expect(fake.faults.count(STOP as string)).toBe(0);
  });

  const passing: readonly FaultKind[] = ["unavailable", "resource_exhausted", "reply_lost"];
  test("are retried after one failure, and run no query twice", async () => {
    for (const kind of passing)
      for (const nth of [1, 2, 3, 4, 5, 6, 7]) {
        const before = fake.queries().length;
        fake.faults.inject({ nth, kind });
        expect(await rowsOf("SELECT x FROM UNNEST([1, 2, 3, 4]) AS x"), `${kind} ${nth}`).toHaveLength(4);
        expect(fake.queries()).toHaveLength(before + 2);
        fake.faults.clear();
      }
  });

  test("fail as unavailable if they are denied, without Amazon's message", async () => {
    for (const nth of [1, 2, 3, 4]) {
      fake.faults.inject({ nth, kind: "permission_denied" });
      const failure = await failedWith(COUNT_LOGS);
      expect(failure).toMatchObject({ kind: "unavailable", message: expect.not.stringContaining("authorized") });
      fake.faults.clear();
    }
  });

  test("fail as unavailable if the work group does not exist", async () => {
    expect(await failedWith(COUNT_LOGS, {}, engine({ athenaWorkgroup: "another" }))).toMatchObject({
      kind: "unavailable",
    });
  });
});

describe("the capability", () => {
  test("explains how to enable SQL and what is missing", () => {
    expect(awsSqlQueries(awsConfig)).toMatchObject({ supported: false, reason: expect.stringContaining("logTable") });
    const named = { ...awsConfig, athenaWorkgroup: "w", logTable: "a.b.c" };
    expect(awsSqlQueries(named, () => ({ version: undefined }))).toMatchObject({
      supported: true,
      note: expect.stringContaining("billingTable"),
    });
    expect(awsSqlQueries(named, () => undefined)).toMatchObject({ supported: false });
  });
});
