/** The two tables that statements may read. `\d` on the command line and the docs show them. */

export interface SqlTableColumn {
  readonly name: string;
  readonly type: string;
  readonly description: string;
}

export const sqlTables = {
  logs: [
    { name: "timestamp", type: "TIMESTAMP", description: "When the platform read the entry." },
    { name: "severity", type: "STRING", description: "DEFAULT, DEBUG, INFO, NOTICE, WARNING, ERROR, ..." },
    { name: "log_name", type: "STRING", description: "stdout, stderr, requests or platform." },
    { name: "insert_id", type: "STRING", description: "The entry's own id, in the order of the log." },
    {
      name: "resource",
      type: "STRUCT<type STRING, labels JSON>",
      description: "`labels` has service_name, revision_name and instance_id.",
    },
    { name: "json_payload", type: "JSON", description: "What a structured line says." },
    { name: "text_payload", type: "STRING", description: "The line, where it is not structured." },
    { name: "http_request", type: "JSON", description: "requestMethod, requestUrl, status, latency, ..." },
  ],
  billing: [
    { name: "usage_start_time", type: "TIMESTAMP", description: "When the day's usage began." },
    { name: "usage_end_time", type: "TIMESTAMP", description: "When it ended." },
    { name: "service", type: "STRUCT<description STRING>", description: "What was used." },
    { name: "sku", type: "STRUCT<description STRING>", description: "What of it." },
    { name: "usage", type: "STRUCT<amount NUMERIC, unit STRING>", description: "How much of it." },
    { name: "cost", type: "NUMERIC", description: "What it cost." },
    { name: "currency", type: "STRING", description: "Of the cost." },
    { name: "resource", type: "STRUCT<name STRING>", description: "The deployment." },
  ],
} as const satisfies Readonly<Record<string, readonly SqlTableColumn[]>>;

export const sqlTableNames: ReadonlySet<string> = new Set(Object.keys(sqlTables));
