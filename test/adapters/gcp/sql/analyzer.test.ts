/**
 * Google's GoogleSQL analyzer accepts what the adapter sends to BigQuery, and agrees with the fake about its columns.
 */
import type { BigQuery, TableField } from "@google-cloud/bigquery";
import { beforeAll, expect, test } from "vitest";
import type { GcpClients } from "../../../../adapters/gcp/clients.ts";
import { createGcpLogs } from "../../../../adapters/gcp/logs/store.ts";
import type { QueryResponse } from "../../../../adapters/gcp/sql/calls.ts";
import { createGcpSql } from "../../../../adapters/gcp/sql/index.ts";
import { columnsOf } from "../../../../adapters/gcp/sql/values.ts";
import { billingView, logsView } from "../../../../adapters/gcp/sql/views.ts";
import { composeStatement } from "../../../../adapters/shared/sql/googlesql/compose.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { sqlFunctions } from "../../../../core/domain/sql/functions.ts";
import { fixedClients, providerWith, runtimeDeps } from "../../../clouds/subject.ts";
import { sqlEngineCases } from "../../../contracts/index.ts";
import { startFakeBigQuery } from "../../../fakes/gcp/bigquery/server.ts";
import { startFakeLogging } from "../../../fakes/gcp/logging/server.ts";
import { gcpConfig, PROJECT, REGION } from "../../../fakes/gcp/test-project.ts";
import { type Analysis, analyze } from "../../../support/sql/googlesql/analyzer.ts";
import { exampleStatement } from "../../../support/sql/sql.ts";
import { pageQuestions } from "../../../support/sql/sql-page.ts";
import { has, needs } from "../../../support/vitest/machine.ts";
import { documentedTables } from "./tables.ts";

const owner = "acme" as AccountId;
const dataset = `${PROJECT}.linked_logs`;
const billingTable = `${PROJECT}.costs.gcp_billing_export_resource_v1_010101_ABCDEF_010101`;

/** The statement that BigQuery receives for a user's statement. */
const sent = (statement: string): string => {
  const tables = { logs: logsView(dataset, REGION, owner), billing: billingView(billingTable, owner) };
  return composeStatement(statement, tables).statement;
};

interface Observed {
  readonly query: string;
  readonly refused: boolean;
  /** The result's schema; undefined if the query did not finish. */
  fields?: readonly TableField[];
}

/** Runs the contract's cases on the fake, and returns each query that the fake received. */
const contractQueries = async (): Promise<readonly Observed[]> => {
  const logging = await startFakeLogging(runtimeDeps());
  const fake = await startFakeBigQuery({ entries: logging.entries });
  const queries = new Map<string, Observed>();
  const bigquery = { projectId: PROJECT, request: observing(fake.client, queries) } as unknown as BigQuery;
  const clients = fixedClients<GcpClients>({ bigquery, logging: logging.client });
  const sql = createGcpSql({ ...gcpConfig, logDataset: dataset, billingTable }, clients, runtimeDeps());
  const subject = providerWith("analyzer", { sql, logs: createGcpLogs(gcpConfig, clients, runtimeDeps()) });
  for (const { run } of sqlEngineCases) await run(subject);
  await sql.close();
  await fake.close();
  await logging.close();
  return [...queries.values()];
};

type Request = { json?: { query?: string; configuration?: { query: { query: string } } } };
type Callback = (error: Error | null, body?: QueryResponse) => void;

/**
 * The client's `request`, which also adds each query with its outcome to `queries`: first its dry run, then its run.
 */
const observing =
  (client: BigQuery, queries: Map<string, Observed>) =>
  ({ json, ...options }: Request, callback: Callback): void => {
    // The case about deadlines needs no response, and running its query takes long.
    if (json?.query?.includes("CROSS JOIN")) return;
    client.request({ json, ...options } as never, (error: Error | null, body?: QueryResponse) => {
      const checked = json?.configuration?.query.query;
      if (checked !== undefined) queries.set(checked, { query: checked, refused: error !== null });
      const ran = queries.get(json?.query ?? "");
      if (ran !== undefined && body?.schema?.fields !== undefined) ran.fields = body.schema.fields;
      callback(error, body);
    });
  };

// GoogleSQL allows window functions only over a table.
const examples = sqlFunctions.map((one) => `${exampleStatement(one)} FROM (SELECT 1)`);
const valid = [...examples, ...Object.values(pageQuestions)].map(sent);

const view = logsView(dataset, REGION, owner);
const invalid = [
  sent("SELECT no_such_column FROM logs"),
  view.replace("json_payload, text_payload", "json_payload, textPayload"),
  view.replace("http_request.status", "http_request.code"),
  billingView(billingTable, owner).replace("CAST(amount AS NUMERIC)", "CAST(amount AS DECIMALS)"),
  "SELECT PRINTF('x') AS a",
];

let queries: readonly Observed[];
let analyses: readonly Analysis[];
// Java starts once for all statements, and takes long on a busy machine.
beforeAll(async () => {
  if (!has("googlesql")) return;
  queries = await contractQueries();
  analyses = analyze(documentedTables(dataset, billingTable), [
    ...queries.map(({ query }) => query),
    ...valid,
    ...invalid,
  ]);
}, 300_000);

test("accepts every query of the contract that the fake accepts, with the same columns", (context) => {
  needs(context, "googlesql");
  expect(queries.length).toBeGreaterThan(12);
  expect(queries.filter(({ refused }) => refused)).toHaveLength(1);
  queries.forEach(({ query, refused, fields }, n) => {
    const analysis = analyses[n];
    expect(analysis?.error !== undefined, `${analysis?.error}\n${query}`).toBe(refused);
    if (fields !== undefined) expect(analysis).toEqual({ columns: columnsOf(fields) });
  });
});

test("accepts an example of every function, and every query of the documentation", (context) => {
  needs(context, "googlesql");
  expect(valid.length).toBeGreaterThan(100);
  const errors = valid.flatMap((statement, n) => {
    const error = analyses[queries.length + n]?.error;
    return error === undefined ? [] : [[error, statement]];
  });
  expect(errors).toEqual([]);
});

test("rejects columns, types and functions that do not exist", (context) => {
  needs(context, "googlesql");
  expect(new Set(invalid).size).toBe(invalid.length);
  expect(analyses.slice(-invalid.length)).toEqual(invalid.map(() => ({ error: expect.any(String) })));
});
