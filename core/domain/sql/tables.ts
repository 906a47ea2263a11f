/** The two tables that statements may read. `\d` on the command line and the docs show them. */

export interface SqlTableColumn {
  readonly name: string;
  readonly type: string;
  readonly description: string;
}

export const sqlTables = {
  logs: [
    { name: "timestamp", type: "TIMESTAMP", description: "The time at which the platform received the entry." },
    { name: "severity", type: "STRING", description: "DEFAULT, DEBUG, INFO, NOTICE, WARNING, ERROR, ..." },
    { name: "log_name", type: "STRING", description: "stdout, stderr, requests or platform." },
    { name: "insert_id", type: "STRING", description: "The unique id of the entry. Ids sort in the order of the log." },
    {
      name: "resource",
      type: "STRUCT<type STRING, labels JSON>",
      description: "`labels` has service_name, revision_name and instance_id.",
    },
    { name: "json_payload", type: "JSON", description: "The fields of a structured line." },
    { name: "text_payload", type: "STRING", description: "The text of an unstructured line." },
    { name: "http_request", type: "JSON", description: "requestMethod, requestUrl, status, latency, ..." },
  ],
  billing: [
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
    { name: "resource", type: "STRUCT<name STRING>", description: "The deployment." },
  ],
} as const satisfies Readonly<Record<string, readonly SqlTableColumn[]>>;

export const sqlTableNames: ReadonlySet<string> = new Set(Object.keys(sqlTables));
