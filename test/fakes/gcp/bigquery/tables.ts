/**
 * The fake BigQuery's tables, in DuckDB, with the documented schemas as far as the platform reads them: the linked
 * dataset's view of a log bucket (https://cloud.google.com/logging/docs/analyze/query-linked-dataset) and the detailed
 * usage cost export (https://cloud.google.com/billing/docs/how-to/export-data-bigquery-tables/detailed-usage).
 */
import type { DuckDBConnection } from "@duckdb/node-api";
import { openDatabase } from "../../../../adapters/shared/sql/database.ts";
import { isoOf, type KeptEntry } from "../logging/entries.ts";

/** A row of the export. */
export interface ExportedCost {
  readonly usage_start_time: string;
  readonly usage_end_time: string;
  readonly service: { readonly description: string };
  readonly sku: { readonly description: string };
  readonly usage: { readonly amount: number; readonly unit: string };
  readonly cost: number;
  readonly currency: string;
  readonly labels: readonly { readonly key: string; readonly value: string }[];
  /** Amounts are negative. */
  readonly credits?: readonly { readonly name: string; readonly amount: number }[];
}

const httpColumns = `STRUCT(request_method VARCHAR, request_url VARCHAR, request_size BIGINT, status BIGINT,
  response_size BIGINT, user_agent VARCHAR, remote_ip VARCHAR, protocol VARCHAR, latency STRUCT(seconds BIGINT, nanos BIGINT))`;

const logColumns = `insert_id VARCHAR, timestamp TIMESTAMPTZ, log_id VARCHAR, log_name VARCHAR, severity VARCHAR,
  resource STRUCT(type VARCHAR, labels JSON), labels JSON, http_request ${httpColumns}, json_payload JSON, text_payload VARCHAR`;

const costColumns = `usage_start_time TIMESTAMPTZ, usage_end_time TIMESTAMPTZ, service STRUCT(description VARCHAR),
  sku STRUCT(description VARCHAR), usage STRUCT(amount DOUBLE, unit VARCHAR), cost DOUBLE, currency VARCHAR,
  labels STRUCT(key VARCHAR, value VARCHAR)[], credits STRUCT(name VARCHAR, amount DOUBLE)[]`;

/** GoogleSQL functions that the local engine does not offer to users. */
const macros = [
  // A merge patch omits nulls: https://www.rfc-editor.org/rfc/rfc7386
  "json_strip_nulls(j) AS json_merge_patch('{}', j)",
  "bq_format_timestamp(f, t) AS strftime(t AT TIME ZONE 'UTC', replace(f, '%E6S', '%S.%f'))",
];

const httpOf = (entry: KeptEntry): object | null => {
  const http = entry.message.httpRequest;
  if (!http) return null;
  return {
    request_method: http.requestMethod,
    request_url: http.requestUrl,
    request_size: Number(http.requestSize ?? 0),
    status: http.status,
    response_size: Number(http.responseSize ?? 0),
    user_agent: http.userAgent,
    remote_ip: http.remoteIp,
    protocol: http.protocol,
    latency: http.latency === null ? null : { seconds: Number(http.latency.seconds), nanos: http.latency.nanos },
  };
};

/** Every value as text: the JSON columns store text. */
const logRow = (entry: KeptEntry): (string | null)[] => {
  const { message, json } = entry;
  const text = (value: unknown): string | null =>
    value === undefined || value === null ? null : JSON.stringify(value);
  return [
    entry.insertId,
    // BigQuery's timestamps have microsecond precision.
    isoOf(entry.nanos - (entry.nanos % 1000n)),
    decodeURIComponent(message.logName.split("/logs/")[1]),
    message.logName,
    message.severity,
    message.resource.type,
    text(message.resource.labels),
    text(message.labels),
    text(httpOf(entry)),
    text(json["jsonPayload"]),
    message.payload === "textPayload" ? message.textPayload : null,
  ];
};

export class Tables {
  readonly connection: DuckDBConnection;
  readonly logs: string;
  readonly costs: string;
  readonly #told = new Set<string>();
  #costs = 0;

  private constructor(connection: DuckDBConnection, logs: string, costs: string) {
    this.connection = connection;
    this.logs = logs;
    this.costs = costs;
  }

  static async create(logs: string, costs: string): Promise<Tables> {
    const connection = await openDatabase(undefined);
    await connection.run(`CREATE TABLE "${logs}"(${logColumns})`);
    await connection.run(`CREATE TABLE "${costs}"(${costColumns})`);
    for (const macro of macros) await connection.run(`CREATE OR REPLACE MACRO ${macro}`);
    return new Tables(connection, logs, costs);
  }

  /** Inserts the new entries and costs into the tables. */
  async catchUp(entries: readonly KeptEntry[], costs: readonly ExportedCost[]): Promise<void> {
    const keyOf = ({ nanos, insertId }: KeptEntry) => `${nanos} ${insertId}`;
    const fresh = entries.filter((entry) => !this.#told.has(keyOf(entry)));
    for (const entry of fresh) this.#told.add(keyOf(entry));
    if (fresh.length > 0)
      await this.connection.run(
        `INSERT INTO "${this.logs}" SELECT r[1], CAST(r[2] AS TIMESTAMPTZ), r[3], r[4], r[5],
          {'type': r[6], 'labels': CAST(r[7] AS JSON)}, CAST(r[8] AS JSON),
          from_json(CAST(r[9] AS JSON), '{"request_method":"VARCHAR","request_url":"VARCHAR","request_size":"BIGINT",
            "status":"BIGINT","response_size":"BIGINT","user_agent":"VARCHAR","remote_ip":"VARCHAR","protocol":"VARCHAR",
            "latency":{"seconds":"BIGINT","nanos":"BIGINT"}}'),
          CAST(r[10] AS JSON), r[11]
         FROM (SELECT unnest(from_json($1::JSON, '[["VARCHAR"]]')) AS r)`,
        [JSON.stringify(fresh.map(logRow))],
      );
    const more = costs.slice(this.#costs);
    this.#costs = costs.length;
    if (more.length > 0)
      await this.connection.run(
        `INSERT INTO "${this.costs}" SELECT r.* FROM (SELECT unnest(from_json($1::JSON, '[{"usage_start_time":"TIMESTAMPTZ",
          "usage_end_time":"TIMESTAMPTZ","service":{"description":"VARCHAR"},"sku":{"description":"VARCHAR"},
          "usage":{"amount":"DOUBLE","unit":"VARCHAR"},"cost":"DOUBLE","currency":"VARCHAR",
          "labels":[{"key":"VARCHAR","value":"VARCHAR"}],"credits":[{"name":"VARCHAR","amount":"DOUBLE"}]}]')) AS r)`,
        [JSON.stringify(more.map((cost) => ({ credits: [], ...cost })))],
      );
  }
}
