/**
 * SQL on Google Cloud. It is available if the configuration names the log bucket's linked dataset, and the packages are
 * installed.
 */
import { type Feature, missing, offered } from "../../../core/domain/wire/capabilities.ts";
import type { Clock, Ids, Logger } from "../../../core/ports/system.ts";
import type { FindPackage } from "../../shared/runtime/optional-package.ts";
import { sqlProblem } from "../../shared/sql/process/installed.ts";
import type { ClientSource } from "../clients.ts";
import type { GcpConfig } from "../config.ts";
import { GcpSql } from "./engine.ts";
import { sourcesOf } from "./tables-behind.ts";

const packages = ["@google-cloud/bigquery", "@polyglot-sql/sdk"] as const;

const howToLink =
  "SQL needs a log bucket that is upgraded to Log Analytics and has a linked dataset. Set `logDataset` to the " +
  "linked dataset. See https://cloud.google.com/logging/docs/buckets#upgrade-bucket";

/** Seconds until an entry in Cloud Logging appears in the linked dataset. An estimate: Google documents no bound. */
export const sqlLagSeconds = 60;

/** @param find finds an installed package; tests pass their own */
export const gcpSqlQueries = ({ logDataset, billingTable }: GcpConfig, find?: FindPackage): Feature => {
  if (logDataset === undefined) return missing(howToLink);
  const problem = sqlProblem(packages, find);
  if (problem !== undefined) return missing(problem);
  return offered(
    billingTable === undefined
      ? "by BigQuery over the log bucket's linked dataset; for billing, also set `billingTable` to the detailed export"
      : "by BigQuery over the log bucket's linked dataset and the detailed billing export",
  );
};

/** Without a linked dataset, the capability is missing, so no statement reaches the engine. */
export const createGcpSql = (
  config: GcpConfig,
  clients: ClientSource,
  runtime: { readonly clock: Clock; readonly ids: Ids; readonly logger: Logger },
): GcpSql => {
  return new GcpSql(config, sourcesOf(config), clients, runtime);
};
