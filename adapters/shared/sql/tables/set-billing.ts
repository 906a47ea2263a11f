/** Replaces the billing rows of the derived database. */
import type { DuckDBConnection } from "@duckdb/node-api";
import type { BillingRow } from "./billing.ts";

export const setBilling = async (connection: DuckDBConnection, rows: readonly BillingRow[]): Promise<void> => {
  await connection.run("DELETE FROM charges");
  if (rows.length === 0) return;
  await connection.run(
    `INSERT INTO charges SELECT r.usage_start_time, r.usage_end_time, r.service_description, r.sku_description,
      r.usage_amount, r.usage_unit, r.cost, r.currency, r.resource_name
     FROM (SELECT unnest(from_json($1::JSON, '[{"usage_start_time":"TIMESTAMPTZ","usage_end_time":"TIMESTAMPTZ",
      "service_description":"VARCHAR","sku_description":"VARCHAR","usage_amount":"DECIMAL(38,9)","usage_unit":"VARCHAR",
      "cost":"DECIMAL(38,9)","currency":"VARCHAR","resource_name":"VARCHAR"}]')) AS r)`,
    [JSON.stringify(rows)],
  );
};
