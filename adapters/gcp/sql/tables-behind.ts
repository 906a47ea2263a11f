/**
 * Finds the tables that BigQuery reads for statements that name the platform's tables. For a view, a dry run lists the
 * tables behind the view (https://github.com/googleapis/mcp-toolbox/issues/2315). Whether this applies to linked
 * datasets is undocumented.
 */
import type { BigQuery } from "@google-cloud/bigquery";
import type { GcpConfig } from "../config.ts";
import { dryRun } from "./calls.ts";
import { LOG_VIEW } from "./views.ts";

/** The platform's tables that statements see as `logs` and `billing`. */
export interface Sources {
  /** `PROJECT.DATASET` */
  readonly dataset: string;
  /** `PROJECT.DATASET.TABLE` */
  readonly billing: string | undefined;
}

const bare = (name: string): string => name.replaceAll("`", "");

export const sourcesOf = ({
  project,
  logDataset,
  billingTable,
}: Pick<GcpConfig, "project" | "logDataset" | "billingTable">): Sources => ({
  dataset: bare(logDataset ?? `${project}.not_linked`),
  billing: billingTable === undefined ? undefined : bare(billingTable),
});

/** The tables that a statement may name, as `PROJECT.DATASET.TABLE`. */
export const ownTables = ({ dataset, billing }: Sources): readonly string[] => [
  `${dataset}.${LOG_VIEW}`,
  ...(billing === undefined ? [] : [billing]),
];

interface TableReference {
  readonly projectId?: string;
  readonly datasetId?: string;
  readonly tableId?: string;
}

export const tableName = ({ projectId, datasetId, tableId }: TableReference): string =>
  `${projectId}.${datasetId}.${tableId}`;

/**
 * Returns the tables that a dry run lists for a statement that reads only this table. Rejects with BigQuery's error.
 *
 * @param jobId a new id
 */
export const tablesBehind = async (client: BigQuery, table: string, location: string | undefined, jobId: string) => {
  const { statistics } = await dryRun(client, { query: `SELECT 1 FROM \`${table}\``, location }, jobId);
  return (statistics?.query?.referencedTables ?? []).map(tableName);
};
