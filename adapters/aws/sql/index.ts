/**
 * SQL on AWS. It is available if the configuration names an Athena workgroup and the log's table, and the packages are
 * installed.
 */
import { type Feature, missing, offered } from "../../../core/domain/wire/capabilities.ts";
import type { FindPackage } from "../../shared/runtime/optional-package.ts";
import { sqlProblem } from "../../shared/sql/process/installed.ts";
import type { AwsRuntimeDeps } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { AwsConfig } from "../config.ts";
import { AwsSql } from "./engine.ts";

const packages = ["@aws-sdk/client-athena", "@polyglot-sql/sdk"] as const;

const howToEnable =
  "SQL needs the log in Athena: deploy docs/providers/aws-template.yaml with `Sql=true`, or set " +
  "`athenaWorkgroup` and `logTable`";

/**
 * Seconds until an entry of CloudWatch Logs is visible to SQL. This is an estimate, because AWS documents no bound.
 * Firehose buffers entries for a minute before it delivers them.
 */
export const sqlLagSeconds = 120;

/** @param find finds an installed package; tests pass their own */
export const awsSqlQueries = ({ athenaWorkgroup, logTable, billingTable }: AwsConfig, find?: FindPackage): Feature => {
  if (athenaWorkgroup === undefined || logTable === undefined) return missing(howToEnable);
  const problem = sqlProblem(packages, find);
  if (problem !== undefined) return missing(problem);
  const limits =
    "timestamps have millisecond precision, and the arguments of STRUCT and the formats of times must be literals";
  return offered(
    billingTable === undefined
      ? `by Athena over the log's table; ${limits}; for billing, also set \`billingTable\` to the export of CUR 2.0`
      : `by Athena over the log's table and the export of CUR 2.0; ${limits}`,
  );
};

/** Without a workgroup or a log table, the capability is missing, so no statement reaches the engine. */
export const createAwsSql = (config: AwsConfig, clients: ClientSource, runtime: AwsRuntimeDeps): AwsSql =>
  new AwsSql(
    {
      workGroup: config.athenaWorkgroup ?? "not-set-up",
      logTable: config.logTable ?? "not.set.up",
      logGroup: config.shared.logGroup,
      billingTable: config.billingTable,
    },
    clients,
    runtime,
  );
