/** The tables that statements may read: the only definition of their columns. */
import { z } from "zod";

const tableSchema = z.object({
  name: z.string(),
  description: z.string(),
  columns: z.array(
    z.object({
      name: z.string(),
      type: z.string().meta({ description: "The GoogleSQL type.", examples: ["TIMESTAMP", "STRUCT<name STRING>"] }),
      description: z.string(),
    }),
  ),
});

/** The schema of the response of `GET /v1/sql/schema`. */
export const sqlSchemaSchema = z.object({ tables: z.array(tableSchema) });

/** The tables that statements may read, with their columns in order. */
export type SqlSchema = z.output<typeof sqlSchemaSchema>;

export const sqlTables: SqlSchema["tables"] = [
  {
    name: "logs",
    description: "The log entries of your deployments, including deleted ones.",
    columns: [
      { name: "timestamp", type: "TIMESTAMP", description: "The time at which the platform received the entry." },
      { name: "severity", type: "STRING", description: "DEFAULT, DEBUG, INFO, NOTICE, WARNING, ERROR, ..." },
      { name: "log_name", type: "STRING", description: "stdout, stderr, requests or platform." },
      {
        name: "insert_id",
        type: "STRING",
        description: "The unique id of the entry. Ids sort in the order of the log.",
      },
      {
        name: "resource",
        type: "STRUCT<type STRING, labels JSON>",
        description: "`labels` has service_name, revision_name and instance_id.",
      },
      { name: "json_payload", type: "JSON", description: "The fields of a structured entry." },
      { name: "text_payload", type: "STRING", description: "The text of an unstructured line." },
      { name: "http_request", type: "JSON", description: "requestMethod, requestUrl, status, latency, ..." },
    ],
  },
  {
    name: "billing",
    description: "The usage of your deployments, one row per deployment, SKU and day.",
    columns: [
      {
        name: "usage_start_time",
        type: "TIMESTAMP",
        description: "The start of the usage. A row covers at most one day.",
      },
      { name: "usage_end_time", type: "TIMESTAMP", description: "The end of the usage." },
      { name: "service", type: "STRUCT<description STRING>", description: "The service of the provider." },
      { name: "sku", type: "STRUCT<description STRING>", description: "The SKU of that service." },
      { name: "usage", type: "STRUCT<amount NUMERIC, unit STRING>", description: "The amount used, with its unit." },
      { name: "cost", type: "NUMERIC", description: "The cost." },
      { name: "currency", type: "STRING", description: "The currency of the cost." },
      { name: "resource", type: "STRUCT<name STRING>", description: "The deployment, if the charge belongs to one." },
    ],
  },
];

export const sqlTableNames: ReadonlySet<string> = new Set(sqlTables.map(({ name }) => name));
