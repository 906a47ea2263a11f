/** SQL on BigQuery: which rows a statement sees, what it may cost, and how calls fail or time out. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { GcpClients } from "../../../../adapters/gcp/clients.ts";
import { createGcpLogs } from "../../../../adapters/gcp/logs/store.ts";
import type { GcpSql } from "../../../../adapters/gcp/sql/engine.ts";
import { bigQueryFault, runFailure, textFailure, tooMuchToRead } from "../../../../adapters/gcp/sql/failures.ts";
import { createGcpSql, gcpSqlQueries } from "../../../../adapters/gcp/sql/index.ts";
import { accountDigest } from "../../../../adapters/shared/accounts/account-digest.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { everything } from "../../../../core/domain/logs/filter/tree.ts";
import type { SqlValue } from "../../../../core/domain/sql/answer.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { isSqlFailure, type SqlLimits } from "../../../../core/ports/sql-engine.ts";
import { COUNT_LOGS, statementTests } from "../../../clouds/sql.ts";
import { fixedClients, runtimeDeps } from "../../../clouds/subject.ts";
import { expectError, expectOk } from "../../../contracts/support.ts";
import type { FaultKind } from "../../../fakes/faults.ts";
import type { AdverseBehavior } from "../../../fakes/gcp/adverse.ts";
import { type FakeBigQuery, startFakeBigQuery } from "../../../fakes/gcp/bigquery/server.ts";
import { messageOfLine } from "../../../fakes/gcp/logging/ingest.ts";
import { type FakeLogging, startFakeLogging } from "../../../fakes/gcp/logging/server.ts";
import { gcpConfig, PROJECT } from "../../../fakes/gcp/test-project.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

const acme = { owner: "acme" as AccountId };
const plenty: SqlLimits = { timeoutMs: 20_000, rows: 1000, bytes: 1024 * 1024 };
const [DRY, QUERY, RESULTS, CANCEL] = [
  "bigquery.jobs.insert",
  "bigquery.jobs.query",
  "bigquery.jobs.getQueryResults",
  "bigquery.jobs.cancel",
];

let logging: FakeLogging;
let fake: FakeBigQuery;
const engines: GcpSql[] = [];
const engine = (change: object = {}, bigquery = fake.client): GcpSql => {
  const config = { ...gcpConfig, logDataset: fake.logDataset, billingTable: fake.billingTable, ...change };
  const made = createGcpSql(config, fixedClients<GcpClients>({ bigquery }), runtimeDeps());
  engines.push(made);
  return made;
};
let sql: GcpSql;

beforeAll(async () => {
  const { clock } = runtimeDeps();
  logging = await startFakeLogging({ clock });
  fake = await startFakeBigQuery({ entries: logging.entries, pageRows: 3 });
  sql = engine();
  for (const [owner, line] of [
    ["acme", "mine"],
    ["acme", "also mine"],
    ["other", "theirs"],
  ] as const)
    logging.ingest({
      service: "app",
      revision: "app-00001",
      instance: "i-1",
      stream: "stdout",
      line,
      labels: { "portside-owner": accountDigest(owner as AccountId) },
    });
});
afterEach(() => {
  fake.faults.clear();
  fake.slowDown(0);
});
afterAll(async () => {
  await Promise.all(engines.map((one) => one.close()));
  await fake.close();
  await logging.close();
});

const rowsOf = async (statement: string, on = sql): Promise<(readonly SqlValue[])[]> => {
  const { rows } = await expectOk(on.run(acme, statement, plenty));
  return (await Array.fromAsync(rows)).flatMap((row) => (isSqlFailure(row) ? [] : [row]));
};
const failureOf = (statement: string, limits: Partial<SqlLimits> = {}, on = sql) =>
  expectError(on.run(acme, statement, { ...plenty, ...limits }));

describe("a statement", () => {
  statementTests((statement) => rowsOf(statement));

  test("preserves the order of its rows", async () => {
    expect(await rowsOf("WITH a AS (SELECT text_payload AS t FROM logs) SELECT t FROM a ORDER BY t DESC")).toEqual([
      ["mine"],
      ["also mine"],
    ]);
  });

  test("sees only entries of the platform's region", async () => {
    const owner = "near" as AccountId;
    const line = {
      service: "app",
      revision: "app-00001",
      instance: "i-1",
      stream: "stdout" as const,
      labels: { "portside-owner": accountDigest(owner) },
    };
    logging.ingest({ ...line, line: "here" });
    logging.ingestEntries([messageOfLine({ project: PROJECT, region: "us-east1" }, { ...line, line: "elsewhere" })]);
    const { rows } = await expectOk(sql.run({ owner }, "SELECT text_payload FROM logs", plenty));
    expect(await Array.fromAsync(rows)).toEqual([["here"]]);
  });

  test("returns the severities that the log returns", async () => {
    const owner = "loud" as AccountId;
    const lines = [
      ...['{"level":"WARN"}', '{"level":30}', '{"level":60}', '{"level":5}', '{"severity":"err"}', '{"a":1}', "plain"],
      ...['{"severity":"alert","level":10}', '{"level":"usage"}', '{"level":"none"}', '{"level":"default"}'],
    ];
    for (const stream of ["stdout", "stderr"] as const)
      for (const line of lines)
        logging.ingest({
          service: "app",
          revision: "app-00001",
          instance: "i-1",
          stream,
          line,
          labels: { "portside-owner": accountDigest(owner) },
        });
    const logs = createGcpLogs(gcpConfig, fixedClients<GcpClients>({ logging: logging.client }), runtimeDeps());
    const service = "app" as DeploymentName;
    const { entries } = await expectOk(
      logs.newest({ owner, service }, { filter: everything, limit: 100, timeoutMs: 20_000 }),
    );
    const { rows } = await expectOk(
      sql.run({ owner }, "SELECT severity FROM logs ORDER BY timestamp, insert_id", plenty),
    );
    expect(entries).toHaveLength(2 * lines.length);
    expect(await Array.fromAsync(rows)).toEqual(entries.map(({ severity }) => [severity]));
  });

  test("cannot name or shadow the tables with every account's rows", async () => {
    for (const statement of [
      `SELECT COUNT(*) AS n FROM \`${fake.logDataset}._AllLogs\``,
      `SELECT COUNT(*) AS n FROM \`${fake.billingTable}\``,
      `SELECT COUNT(*) AS n FROM \`${fake.logDataset}\`.\`\\x5fAllLogs\``,
      "SELECT '_AllLogs' AS a FROM logs",
      "SELECT COUNT(*) AS n FROM INFORMATION_SCHEMA.TABLES",
      "WITH logs AS (SELECT 1 AS n) SELECT n FROM logs",
      "SELECT 1 AS a; SELECT 2 AS b",
      "DELETE FROM logs WHERE TRUE",
    ])
      expect(await failureOf(statement), statement).toMatchObject({ kind: "invalid_statement" });
    expect(fake.faults.count(QUERY)).toBe(0);
  });

  /** An engine with a manipulated dry run: `change` alters BigQuery's report of what a statement does. */
  const looking = (change: (query: Record<string, unknown>) => void): GcpSql => {
    const request = (asked: object, callback: (error: unknown, body: unknown) => void) =>
      fake.client.request(asked as never, (error: unknown, body: unknown) => {
        const { statistics } = (body ?? {}) as { statistics?: { query: Record<string, unknown> } };
        // The look-up of the tables behind the platform's own is not manipulated.
        const isLookup = JSON.stringify(asked).includes('"SELECT 1 FROM ');
        if (statistics !== undefined && !isLookup) change(statistics.query);
        callback(error, body);
      });
    const bigquery = { projectId: PROJECT, request } as unknown as GcpClients["bigquery"];
    const config = { ...gcpConfig, logDataset: fake.logDataset, billingTable: fake.billingTable };
    const made = createGcpSql(config, fixedClients<GcpClients>({ bigquery }), runtimeDeps());
    engines.push(made);
    return made;
  };

  test("is rejected if BigQuery interprets it differently from the parser", async () => {
    const table = { projectId: PROJECT, datasetId: "linked_logs", tableId: "_Default" };
    const reads = looking((query) => {
      query["referencedTables"] = [table];
    });
    const writes = looking((query) => {
      query["statementType"] = "DELETE";
    });
    for (const one of [reads, writes])
      expect(await failureOf(COUNT_LOGS, {}, one)).toMatchObject({ kind: "invalid_statement" });
    expect(fake.faults.count(QUERY)).toBe(0);
    expect(
      await rowsOf(
        COUNT_LOGS,
        looking(() => undefined),
      ),
    ).toEqual([[2]]);
  });

  test("fails as unavailable if the platform's tables do not exist", async () => {
    const strange = engine({ logDataset: "test-project.another" });
    expect(await failureOf(COUNT_LOGS, {}, strange)).toMatchObject({ kind: "unavailable" });
    expect(fake.faults.count(QUERY)).toBe(0);
  });

  test("fails with a message that has the statement's line numbers, and no names of the platform", async () => {
    const failure = await failureOf("SELECT\n no_such FROM logs");
    expect(failure).toMatchObject({ kind: "invalid_statement", message: expect.stringContaining("no_such") });
    const message = `Unrecognized name at [3:8] in ${fake.logDataset}._AllLogs of BigQuery`;
    expect(textFailure(message, [`${fake.logDataset}._AllLogs`])).toEqual({
      kind: "invalid_statement",
      message: "Unrecognized name at [2:8] in the table of the engine",
    });
  });

  test("reveals no value if it fails on data", () => {
    const failure = runFailure({ reason: "invalidQuery", message: "Bad int64 value: their secret at [2:3]" }, 1);
    expect(failure).toEqual({ kind: "failed", message: "a string cannot be cast to the type at [1:3]" });
    expect(JSON.stringify(runFailure({ reason: "invalidQuery", message: "their secret" }, 1))).not.toContain("secret");
  });
});

describe("if a dry run lists the tables behind the log view", () => {
  let behind: FakeBigQuery;
  beforeAll(async () => {
    const adverse = new Set<AdverseBehavior>(["tables_behind_views"]);
    behind = await startFakeBigQuery({ entries: logging.entries, adverse });
  });
  afterAll(() => behind.close());
  const engineBehind = () =>
    engine({ logDataset: behind.logDataset, billingTable: behind.billingTable }, behind.client);

  test("statements run, and the tables are looked up once", async () => {
    const one = engineBehind();
    behind.faults.clear();
    expect(await rowsOf(COUNT_LOGS, one)).toEqual([[2]]);
    expect(behind.faults.log).toEqual([DRY, DRY, DRY, QUERY]);
    behind.faults.clear();
    expect(await rowsOf("SELECT COUNT(*) AS n FROM billing", one)).toEqual([[0]]);
    expect(await rowsOf(COUNT_LOGS, one)).toEqual([[2]]);
    expect(behind.faults.log).toEqual([DRY, QUERY, DRY, QUERY]);
  });

  test("a failed look-up is repeated by the next statement", async () => {
    const one = engineBehind();
    behind.faults.clear();
    behind.faults.inject({ nth: 2, kind: "permission_denied" });
    expect(await failureOf(COUNT_LOGS, {}, one)).toMatchObject({ kind: "unavailable" });
    behind.faults.clear();
    expect(await rowsOf(COUNT_LOGS, one)).toEqual([[2]]);
  });

  test("a statement cannot name one of them", async () => {
    const one = engineBehind();
    behind.faults.clear();
    for (const statement of [
      "SELECT COUNT(*) AS n FROM `logging-tenant.bucket_default._logs_default_1`",
      "SELECT '_LOGS_required_1' AS a FROM logs",
    ])
      expect(await failureOf(statement, {}, one), statement).toMatchObject({ kind: "invalid_statement" });
    expect(behind.faults.count(QUERY)).toBe(0);
  });
});

describe("billing", () => {
  const cost = (day: string, owner: string, amount: number) => ({
    usage_start_time: `${day}T03:00:00Z`,
    usage_end_time: `${day}T04:00:00Z`,
    service: { description: "Cloud Run" },
    sku: { description: "CPU" },
    usage: { amount, unit: "seconds" },
    cost: amount / 10,
    currency: "EUR",
    labels: [
      { key: "portside-owner", value: accountDigest(owner as AccountId) },
      { key: "portside-service", value: "app" },
    ],
  });
  test("has one row per SKU and day with its cost after credits, of this account only", async () => {
    fake.charge(cost("2026-01-30", "acme", 1));
    fake.charge(cost("2026-01-31", "acme", 2));
    fake.charge(cost("2026-01-31", "acme", 3));
    fake.charge(cost("2026-01-31", "other", 100));
    fake.charge({
      ...cost("2026-02-01", "acme", 4),
      credits: [
        { name: "free tier", amount: -0.3 },
        { name: "discount", amount: -0.05 },
      ],
    });
    expect(
      await rowsOf(
        "SELECT usage_start_time, usage.amount, cost, currency, resource.name, service.description FROM billing ORDER BY usage_start_time",
      ),
    ).toEqual([
      ["2026-01-30T00:00:00+00:00", "1", "0.1", "EUR", "app", "Cloud Run"],
      ["2026-01-31T00:00:00+00:00", "5", "0.5", "EUR", "app", "Cloud Run"],
      ["2026-02-01T00:00:00+00:00", "4", "0.05", "EUR", "app", "Cloud Run"],
    ]);
  });
  test("is reported as missing if it is not configured, and logs still work", async () => {
    const without = engine({ billingTable: undefined });
    expect(await rowsOf(COUNT_LOGS, without)).toEqual([[2]]);
    expect(await failureOf("SELECT COUNT(*) AS n FROM billing", {}, without)).toMatchObject({
      kind: "invalid_statement",
      message: expect.stringContaining("billingTable"),
    });
  });
});

describe("limits", () => {
  test("rejects a statement that would read too many bytes, before it runs", async () => {
    const poor = engine({ sqlBytesBilled: 10 });
    expect(await failureOf(COUNT_LOGS, {}, poor)).toEqual(tooMuchToRead(10, 100 * logging.entries().length));
    expect(fake.faults.count(QUERY)).toBe(0);
  });

  test("the error states how much the statement would read, and how to read less", () => {
    const gib = 1024 ** 3;
    const example = "WHERE timestamp > TIMESTAMP_SUB(CURRENT_TIMESTAMP(), INTERVAL 1 DAY)";
    expect(tooMuchToRead(10 * gib, 12.345 * gib)).toEqual({
      kind: "failed",
      message: `the query would read 12.35 GiB, more than the limit of 10 GiB; bound the time, for example with ${example}`,
    });
    expect(runFailure({ reason: "bytesBilledLimitExceeded" }, gib)).toEqual(tooMuchToRead(gib));
  });

  test("fails with `timeout` at the deadline", async () => {
    expect(await rowsOf(COUNT_LOGS)).toEqual([[2]]);
    fake.faults.clear();
    fake.slowDown(60_000);
    expect(await failureOf(COUNT_LOGS, { timeoutMs: 1500 })).toEqual({ kind: "timeout" });
  });

  test("cancels a query after its client has disconnected", async () => {
    fake.slowDown(20_000);
    const gone = new AbortController();
    const run = sql.run(acme, COUNT_LOGS, plenty, { signal: gone.signal });
    await eventually(() => expect(fake.faults.count(QUERY)).toBe(1));
    gone.abort();
    expect(await expectError(run)).toMatchObject({ kind: "unavailable" });
    // BigQuery's first response names the job to cancel.
    await eventually(() => expect(fake.faults.count(CANCEL)).toBeGreaterThan(0));
  });
});

describe("calls", () => {
  test("takes one dry run and one query for a short result, and one more call per further page", async () => {
    await rowsOf(COUNT_LOGS);
    expect(fake.faults.log).toEqual([DRY, QUERY]);
    fake.faults.clear();
    await rowsOf("SELECT x FROM UNNEST([1, 2, 3, 4, 5, 6, 7]) AS x");
    expect(fake.faults.log).toEqual([DRY, QUERY, RESULTS, RESULTS]);
    expect(fake.faults.count(CANCEL)).toBe(0);
  });

  const passing: readonly FaultKind[] = ["unavailable", "resource_exhausted", "reply_lost"];
  test("are retried after one failure, and each row is returned once", async () => {
    for (const kind of passing)
      for (const nth of [1, 2, 3]) {
        fake.faults.inject({ nth, kind });
        expect(await rowsOf("SELECT x FROM UNNEST([1, 2, 3, 4]) AS x"), `${kind} ${nth}`).toHaveLength(4);
        fake.faults.clear();
      }
  });

  test("fail as unavailable if they are denied, without Google's message", async () => {
    for (const nth of [1, 2]) {
      fake.faults.inject({ nth, kind: "permission_denied" });
      const failure = await failureOf(COUNT_LOGS);
      expect(failure).toMatchObject({ kind: "unavailable", message: expect.not.stringContaining("Access Denied") });
      fake.faults.clear();
    }
  });

  test("fail with a kind of error that depends on the reason, whatever the status", () => {
    const error = (code: number, reason: string) => Object.assign(new Error("x"), { code, errors: [{ reason }] });
    expect(bigQueryFault(error(403, "quotaExceeded"))).toEqual({ kind: "busy" });
    expect(bigQueryFault(error(403, "accessDenied"))).toEqual({ kind: "refused" });
    expect(bigQueryFault(error(500, "bytesBilledLimitExceeded"))).toEqual({ kind: "state", code: "invalid" });
    expect(bigQueryFault(error(400, "invalidQuery"))).toEqual({ kind: "state", code: "invalid" });
    expect(bigQueryFault(new TypeError("a bug"))).toBeUndefined();
  });
});

describe("the capability", () => {
  test("explains how to enable SQL and what is missing", () => {
    expect(gcpSqlQueries(gcpConfig)).toMatchObject({ supported: false, reason: expect.stringContaining("logDataset") });
    const linked = { ...gcpConfig, logDataset: "p.d" };
    expect(gcpSqlQueries(linked, () => ({ version: undefined }))).toMatchObject({
      supported: true,
      note: expect.stringContaining("billingTable"),
    });
    expect(gcpSqlQueries(linked, () => undefined)).toMatchObject({ supported: false });
  });
});
