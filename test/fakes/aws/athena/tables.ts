/**
 * The fake Athena's tables in DuckDB, by full name: the log as Firehose delivers it, and the columns of a CUR 2.0
 * export that the views read (https://docs.aws.amazon.com/cur/latest/userguide/table-dictionary-cur2.html).
 */
import { DuckDBInstance } from "@duckdb/node-api";
import type { KeptEvent } from "../logs/events.ts";
import { macros } from "./duck.ts";

/** A row of the export. */
export interface ExportedCost {
  readonly line_item_usage_start_date: string;
  readonly line_item_product_code: string;
  readonly line_item_usage_type: string;
  readonly line_item_usage_amount: number;
  readonly pricing_unit: string;
  readonly line_item_unblended_cost: number;
  readonly line_item_currency_code: string;
  readonly resource_tags: Readonly<Record<string, string>>;
}

export const LOG_TABLE = "AwsDataCatalog.portside.logs";
export const BILLING_TABLE = "AwsDataCatalog.costs.cur2";

const quoted = (name: string): string =>
  name
    .split(".")
    .map((part) => `"${part}"`)
    .join(".");

export const createTables = async (group: string) => {
  const instance = await DuckDBInstance.create(":memory:", { threads: "1", autoinstall_known_extensions: "false" });
  const connection = await instance.connect();
  for (const macro of macros) await connection.run(`CREATE OR REPLACE MACRO ${macro}`);
  await connection.run("SET TimeZone = 'UTC'");
  // Trino divides integers to integers.
  await connection.run("SET integer_division = true");
  await connection.run(`ATTACH ':memory:' AS "AwsDataCatalog"`);
  for (const schema of ["portside", "costs"]) await connection.run(`CREATE SCHEMA "AwsDataCatalog"."${schema}"`);
  await connection.run(`CREATE TABLE ${quoted(LOG_TABLE)}(messagetype VARCHAR, owner VARCHAR, loggroup VARCHAR,
    logstream VARCHAR, subscriptionfilters VARCHAR[],
    logevents STRUCT(id VARCHAR, "timestamp" BIGINT, message VARCHAR)[], "day" VARCHAR)`);
  await connection.run(`CREATE TABLE ${quoted(BILLING_TABLE)}(line_item_usage_start_date TIMESTAMP,
    line_item_product_code VARCHAR, line_item_usage_type VARCHAR, line_item_usage_amount DOUBLE, pricing_unit VARCHAR,
    line_item_unblended_cost DOUBLE, line_item_currency_code VARCHAR, resource_tags MAP(VARCHAR, VARCHAR))`);
  const delivered = new Set<string>();
  let charged = 0;

  return {
    connection,
    /** Copies new log events and costs into the tables, one record per stream. */
    catchUp: async (events: readonly KeptEvent[], costs: readonly ExportedCost[]): Promise<void> => {
      const fresh = events.filter(({ eventId }) => !delivered.has(eventId));
      for (const { eventId } of fresh) delivered.add(eventId);
      const streams = Map.groupBy(fresh, ({ stream }) => stream);
      const records = [...streams].map(([logstream, own]) => ({
        messagetype: "DATA_MESSAGE",
        owner: "123456789012",
        loggroup: group,
        logstream,
        subscriptionfilters: ["sql"],
        logevents: own.map(({ eventId, timestamp, message }) => ({ id: eventId, timestamp, message })),
      }));
      if (records.length > 0)
        await connection.run(
          `INSERT INTO ${quoted(LOG_TABLE)} SELECT r.*, '2026-01-01' FROM (SELECT unnest(from_json($1::JSON,
            '[{"messagetype":"VARCHAR","owner":"VARCHAR","loggroup":"VARCHAR","logstream":"VARCHAR",
            "subscriptionfilters":["VARCHAR"],"logevents":[{"id":"VARCHAR","timestamp":"BIGINT","message":"VARCHAR"}]}]')) AS r)`,
          [JSON.stringify(records)],
        );
      const more = costs.slice(charged);
      charged = costs.length;
      for (const { resource_tags: tags, ...cost } of more)
        await connection.run(
          `INSERT INTO ${quoted(BILLING_TABLE)} VALUES ($1::TIMESTAMP, $2, $3, $4::DOUBLE, $5, $6::DOUBLE, $7,
            map_from_entries(from_json($8::JSON, '[{"k":"VARCHAR","v":"VARCHAR"}]')))`,
          [...Object.values(cost).map(String), JSON.stringify(Object.entries(tags).map(([k, v]) => ({ k, v })))],
        );
    },
  };
};
