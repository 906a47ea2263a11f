/** The documented columns of BigQuery's tables behind `logs` and `billing`. */
import type { Tables } from "../../../support/sql/googlesql/analyzer.ts";

/**
 * A linked dataset's view: the fields of LogEntry, with its maps as JSON.
 * https://docs.cloud.google.com/logging/docs/analyze/examples,
 * https://docs.cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry
 */
const allLogs = {
  insert_id: "STRING",
  log_id: "STRING",
  log_name: "STRING",
  severity: "STRING",
  severity_number: "INT64",
  timestamp: "TIMESTAMP",
  timestamp_unix_nanos: "INT64",
  receive_timestamp: "TIMESTAMP",
  receive_timestamp_unix_nanos: "INT64",
  resource: "STRUCT<type STRING, labels JSON>",
  labels: "JSON",
  http_request: `STRUCT<request_method STRING, request_url STRING, request_size INT64, status INT64,
    response_size INT64, user_agent STRING, remote_ip STRING, server_ip STRING, referer STRING,
    latency STRUCT<seconds INT64, nanos INT64>, cache_lookup BOOL, cache_hit BOOL,
    cache_validated_with_origin_server BOOL, cache_fill_bytes INT64, protocol STRING>`,
  operation: "STRUCT<id STRING, producer STRING, first BOOL, last BOOL>",
  source_location: "STRUCT<file STRING, line INT64, function STRING>",
  split: "STRUCT<uid STRING, index INT64, total_splits INT64>",
  trace: "STRING",
  span_id: "STRING",
  trace_sampled: "BOOL",
  text_payload: "STRING",
  json_payload: "JSON",
};

/** https://docs.cloud.google.com/billing/docs/how-to/export-data-bigquery-tables/detailed-usage */
const detailedUsage = {
  billing_account_id: "STRING",
  service: "STRUCT<id STRING, description STRING>",
  sku: "STRUCT<id STRING, description STRING>",
  usage_start_time: "TIMESTAMP",
  usage_end_time: "TIMESTAMP",
  project: `STRUCT<id STRING, number STRING, name STRING, labels ARRAY<STRUCT<key STRING, value STRING>>,
    ancestry_numbers STRING, ancestors ARRAY<STRUCT<resource_name STRING, display_name STRING>>>`,
  labels: "ARRAY<STRUCT<key STRING, value STRING>>",
  system_labels: "ARRAY<STRUCT<key STRING, value STRING>>",
  location: "STRUCT<location STRING, country STRING, region STRING, zone STRING>",
  tags: "ARRAY<STRUCT<key STRING, value STRING, inherited BOOL, namespace STRING>>",
  transaction_type: "STRING",
  seller_name: "STRING",
  export_time: "TIMESTAMP",
  cost: "FLOAT64",
  currency: "STRING",
  currency_conversion_rate: "FLOAT64",
  usage: "STRUCT<amount FLOAT64, unit STRING, amount_in_pricing_units FLOAT64, pricing_unit STRING>",
  credits: "ARRAY<STRUCT<name STRING, amount FLOAT64, full_name STRING, id STRING, type STRING>>",
  invoice: "STRUCT<month STRING, publisher_type STRING>",
  cost_type: "STRING",
  adjustment_info: "STRUCT<id STRING, description STRING, mode STRING, type STRING>",
  cost_at_list: "FLOAT64",
  resource: "STRUCT<name STRING, global_name STRING>",
  price: `STRUCT<effective_price NUMERIC, tier_start_amount NUMERIC, unit STRING, pricing_unit_quantity NUMERIC>`,
  subscription: "STRUCT<instance_id STRING>",
};

/**
 * @param dataset the linked dataset
 * @param billing the export's table
 */
export const documentedTables = (dataset: string, billing: string): Tables => ({
  [`${dataset}._AllLogs`]: allLogs,
  [billing]: detailedUsage,
});
