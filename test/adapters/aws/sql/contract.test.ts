/** Athena passes the contract tests of `SqlEngine`, and each listed function returns what its example shows. */

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AwsClients } from "../../../../adapters/aws/clients.ts";
import { createAwsLogs } from "../../../../adapters/aws/logs/store.ts";
import { createAwsSql } from "../../../../adapters/aws/sql/index.ts";
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { sqlFunctions } from "../../../../core/domain/sql/functions.ts";
import { isSqlFailure } from "../../../../core/ports/sql-engine.ts";
import { fixedClients, providerWith, runtimeDeps } from "../../../clouds/subject.ts";
import { contractTests, sqlEngineCases } from "../../../contracts/index.ts";
import { expectOk } from "../../../contracts/support.ts";
import { startFakeAthena } from "../../../fakes/aws/athena/server.ts";
import { startFakeCloudWatch } from "../../../fakes/aws/logs/server.ts";
import { awsConfig } from "../../../fakes/aws/test-config.ts";
import { exampleStatement } from "../../../support/sql/sql.ts";

const start = async () => {
  const deps = runtimeDeps();
  const cloudWatch = await startFakeCloudWatch(deps);
  const fake = await startFakeAthena({ events: cloudWatch.events });
  const { workGroup: athenaWorkgroup, logTable, billingTable } = fake;
  const config = { ...awsConfig, athenaWorkgroup, logTable, billingTable };
  const clients = fixedClients<AwsClients>({ logs: cloudWatch.client, athena: fake.client });
  const sql = createAwsSql(config, clients, deps);
  const logs = createAwsLogs(config, clients, deps);
  return {
    sql,
    subject: providerWith("aws", { sql, logs }),
    close: async () => {
      await sql.close();
      await fake.close();
      await cloudWatch.close();
    },
  };
};

const { capabilities } = createMemoryProvider().provider;
contractTests("Athena", sqlEngineCases, start, { ...capabilities, sql: { ...capabilities.sql, lag_seconds: 0 } });

describe("listed functions", () => {
  let started: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    started = await start();
  });
  afterAll(() => started.close());
  test.each(sqlFunctions)("$name", async (one) => {
    const limits = { timeoutMs: 30_000, rows: 10, bytes: 10_000 };
    const { rows } = await expectOk(started.sql.run({ owner: "acme" as AccountId }, exampleStatement(one), limits));
    const [row] = await Array.fromAsync(rows);
    expect(row !== undefined && !isSqlFailure(row) ? row[0] : row).toEqual(one.answer);
  });
});
