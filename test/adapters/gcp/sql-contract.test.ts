/** BigQuery keeps the promises of a SQL engine, over what Cloud Logging was told. */

import { createGcpSql } from "../../../adapters/gcp/bigquery/index.ts";
import { createGcpLogs } from "../../../adapters/gcp/logging/store.ts";
import { memoryCapabilities } from "../../../adapters/memory/capabilities.ts";
import { contractTests, sqlEngineCases } from "../../contracts/index.ts";
import { startFakeBigQuery } from "../../fakes/gcp/bigquery/server.ts";
import { startFakeLogging } from "../../fakes/gcp/logging/server.ts";
import { ambientOf, gcpConfig, givenClients, providerWith } from "./subject.ts";

contractTests(
  "gcp sql",
  sqlEngineCases,
  async () => {
    const ambient = ambientOf();
    const logging = await startFakeLogging(ambient);
    const bigquery = await startFakeBigQuery({ entries: logging.entries, pageRows: 7 });
    const config = { ...gcpConfig, logDataset: bigquery.logDataset, billingTable: bigquery.billingTable };
    const clients = givenClients({ logging: logging.client, bigquery: bigquery.client });
    const sql = createGcpSql(config, clients, ambient);
    const logs = createGcpLogs({ ...config, logReadsPerMinute: 1_000_000 }, clients, ambient);
    const close = async () => {
      await sql.close();
      await bigquery.close();
      await logging.close();
    };
    return { subject: providerWith({ logs, sql }), close };
  },
  memoryCapabilities,
);
