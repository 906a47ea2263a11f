/** The fake BigQuery behaves as documented, as seen by the official client. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { runtimeDeps } from "../../../clouds/subject.ts";
import { type FakeBigQuery, startFakeBigQuery } from "../../../fakes/gcp/bigquery/server.ts";
import { type FakeLogging, startFakeLogging } from "../../../fakes/gcp/logging/server.ts";

let logging: FakeLogging;
let fake: FakeBigQuery;
beforeAll(async () => {
  logging = await startFakeLogging(runtimeDeps());
  fake = await startFakeBigQuery({ entries: logging.entries, pageRows: 2 });
  const line = JSON.stringify({ severity: "ERROR", message: "boom", n: 1 });
  logging.ingest({ service: "app", revision: "r", instance: "i", stream: "stderr", line, labels: { team: "x" } });
});
afterAll(async () => {
  await fake.close();
  await logging.close();
});

test("the linked dataset has the documented columns", async () => {
  const [rows] = await fake.client.query({
    query: `SELECT severity, log_id, resource.type AS type, JSON_VALUE(resource.labels, '$.service_name') AS service,
      JSON_VALUE(labels, '$.team') AS team, JSON_VALUE(json_payload, '$.message') AS message, text_payload
      FROM \`${fake.logDataset}._AllLogs\``,
  });
  expect(rows).toEqual([
    {
      severity: "ERROR",
      log_id: "run.googleapis.com/stderr",
      type: "cloud_run_revision",
      service: "app",
      team: "x",
      message: "boom",
      text_payload: null,
    },
  ]);
});

test("returns results in pages, with their types", async () => {
  const [rows] = await fake.client.query({
    query: "SELECT x, [x] AS list, STRUCT(x AS y) AS record, TRUE AS t FROM UNNEST([1, 2, 3, 4, 5]) AS x ORDER BY x",
  });
  expect(rows).toHaveLength(5);
  expect(rows[4]).toEqual({ x: 5, list: [5], record: { y: 5 }, t: true });
});

test("a dry run reports what would be read, and runs nothing", async () => {
  fake.faults.clear();
  const [job] = await fake.client.createQueryJob({
    query: `SELECT COUNT(*) AS n FROM \`${fake.logDataset}._AllLogs\``,
    dryRun: true,
  });
  expect(job.metadata.statistics.query).toMatchObject({
    statementType: "SELECT",
    referencedTables: [{ projectId: "test-project", datasetId: "linked_logs", tableId: "_AllLogs" }],
  });
  expect(Number(job.metadata.statistics.totalBytesProcessed)).toBeGreaterThan(0);
  expect(fake.faults.log).toEqual(["bigquery.jobs.insert"]);
});

test("errors have reasons", async () => {
  const reason = (query: string, more: object = {}) =>
    fake.client.query({ query, ...more }).then(
      () => "none",
      (error: { errors?: readonly { reason: string }[] }) => error.errors?.[0]?.reason,
    );
  expect(await reason("SELECT FROM")).toBe("invalidQuery");
  expect(await reason("SELECT x FROM `test-project.linked_logs.other`")).toBe("notFound");
  expect(await reason("SELECT x FROM other")).toBe("invalidQuery");
  expect(await reason(`SELECT insert_id FROM \`${fake.logDataset}._AllLogs\``, { maximumBytesBilled: "1" })).toBe(
    "bytesBilledLimitExceeded",
  );
  for (const [kind, wanted] of [
    ["unavailable", "backendError"],
    ["permission_denied", "accessDenied"],
    ["resource_exhausted", "rateLimitExceeded"],
  ] as const) {
    fake.faults.inject({ nth: 1, kind });
    expect(await reason("SELECT 1 AS a")).toBe(wanted);
  }
});
