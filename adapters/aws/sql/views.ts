/**
 * One account's `logs` and `billing` views in Trino's SQL. `docs/providers/aws-template.yaml` creates the log table.
 * The operator creates the billing table in the billing console.
 *
 * Log table: the records of a log group subscription, which Firehose delivers decompressed, as one JSON object per line
 * (https://docs.aws.amazon.com/firehose/latest/dev/writing-with-cloudwatch-logs-decompression.html): `messagetype`,
 * `owner`, `loggroup`, `logstream`, `subscriptionfilters`, `logevents` (a list of `id`, `timestamp`, `message`), and
 * the partition `day`. Message extraction is off, because an extracted message does not contain its stream, whose name
 * identifies the account.
 *
 * Billing table: CUR 2.0 (https://docs.aws.amazon.com/cur/latest/userguide/table-dictionary-cur2.html). The map
 * `resource_tags` contains the cost allocation tags.
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { RESOURCE_TYPE } from "../../../core/domain/logs/filter/record.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { severityCases } from "../../shared/sql/tables/severity.ts";
import { ownerDigits } from "../accounts/owner-digits.ts";
import { PLATFORM_STREAM } from "../logs/entry.ts";

const line = (text: string): string => text.replace(/\s*\n\s*/g, " ").trim();

/** Columns of the log table in Glue, with Hive types. They must match the template. */
export const logTableColumns: readonly (readonly [string, string])[] = [
  ["messagetype", "string"],
  ["owner", "string"],
  ["loggroup", "string"],
  ["logstream", "string"],
  ["subscriptionfilters", "array<string>"],
  ["logevents", "array<struct<id:string,timestamp:bigint,message:string>>"],
];

/** Quotes each part of a table's full name. */
export const quotedName = (table: string): string =>
  table
    .split(".")
    .map((part) => `"${part.replaceAll('"', "")}"`)
    .join(".");

const jsonSeverity = "COALESCE(json_extract_scalar(line, '$.severity'), json_extract_scalar(line, '$.level'))";
const severity = `CASE ${severityCases(jsonSeverity, `TRY_CAST(${jsonSeverity} AS DOUBLE)`)} ELSE 'DEFAULT' END`;

const written = (field: string): string => `json_extract_scalar(written, '$.${field}')`;

const labels = `CAST(map_filter(MAP(ARRAY['service_name', 'revision_name', 'instance_id'],
  ARRAY[service, revision, instance]), (k, v) -> v IS NOT NULL) AS JSON)`;

/** Parses the line's JSON object like `readLine`; null for any other text. */
const object = (text: string): string =>
  `CASE WHEN starts_with(trim(${text}), '{') THEN TRY(json_parse(trim(${text}))) END`;

/**
 * Returns the view of an account's log. Its timestamps have millisecond precision. `insert_id` contains the nanoseconds
 * and sorts in log order.
 *
 * @param table from `quotedName`
 */
export const logsView = (table: string, group: string, owner: AccountId): string =>
  line(`SELECT from_unixtime(CAST(ms AS DOUBLE) / 1000) AS "timestamp",
    CASE WHEN written IS NOT NULL THEN ${written("severity")} ELSE ${severity} END AS severity,
    CASE WHEN written IS NOT NULL THEN ${written("log")} ELSE 'stdout' END AS log_name,
    CASE WHEN written IS NOT NULL THEN concat(lpad(${written("at")}, 19, '0'), '-', ${written("id")})
      ELSE concat(lpad(CAST(ms * 1000000 AS VARCHAR), 19, '0'), '-', id) END AS insert_id,
    CAST(ROW('${RESOURCE_TYPE}', ${labels}) AS ROW(type VARCHAR, labels JSON)) AS resource,
    CASE WHEN written IS NOT NULL THEN json_extract(written, '$.json') ELSE line END AS json_payload,
    CASE WHEN written IS NOT NULL THEN ${written("text")} WHEN line IS NULL THEN message END AS text_payload,
    json_extract(written, '$.http') AS http_request
    FROM (SELECT id, ms, message, service, line, written,
      CASE WHEN written IS NOT NULL THEN ${written("revision")} ELSE part END AS revision,
      CASE WHEN written IS NOT NULL THEN ${written("instance")} ELSE task END AS instance
      FROM (SELECT e.id AS id, e."timestamp" AS ms, e.message AS message,
        split_part(l.logstream, '/', 2) AS service, split_part(l.logstream, '/', 3) AS part,
        element_at(split(l.logstream, '/'), -1) AS task,
        CASE WHEN NOT regexp_like(l.logstream, '^[^/]*/[^/]*/${PLATFORM_STREAM}$') THEN ${object("e.message")} END AS line,
        CASE WHEN regexp_like(l.logstream, '^[^/]*/[^/]*/${PLATFORM_STREAM}$') THEN TRY(json_parse(e.message)) END AS written
        FROM ${table} AS l CROSS JOIN UNNEST(l.logevents) AS e(id, "timestamp", message)
        WHERE l.messagetype = 'DATA_MESSAGE' AND l.loggroup = '${group.replaceAll("'", "''")}'
          AND starts_with(l.logstream, '${accountDigest(owner)}/')))`);

/**
 * Reads the tag `portside-owner` or `portside-service`, which must be an active cost allocation tag. A deployment's
 * service, tasks and target groups have both tags. Volume buckets and their file systems have only `portside-owner`.
 */
const tag = (name: string): string => `element_at(resource_tags, 'user_${name}')`;

/**
 * Returns the view of an account's costs, with one row per day, SKU and deployment. The owner tag of a file system
 * contains only the first digits of the account's digest, because Portside derives it from the bucket's name.
 *
 * @param table from `quotedName`
 */
export const billingView = (table: string, owner: AccountId): string =>
  line(`SELECT with_timezone(used_on, 'UTC') AS usage_start_time,
    with_timezone(date_add('day', 1, used_on), 'UTC') AS usage_end_time,
    CAST(ROW(used) AS ROW(description VARCHAR)) AS service, CAST(ROW(used_sku) AS ROW(description VARCHAR)) AS sku,
    CAST(ROW(SUM(amount), used_unit) AS ROW(amount DECIMAL(38, 9), unit VARCHAR)) AS usage, SUM(charge) AS cost,
    charged_in AS currency, CAST(ROW(deployment) AS ROW(name VARCHAR)) AS resource
    FROM (SELECT date_trunc('day', line_item_usage_start_date) AS used_on, line_item_product_code AS used,
      line_item_usage_type AS used_sku, CAST(line_item_usage_amount AS DECIMAL(38, 9)) AS amount,
      pricing_unit AS used_unit, CAST(line_item_unblended_cost AS DECIMAL(38, 9)) AS charge,
      line_item_currency_code AS charged_in, ${tag("portside_service")} AS deployment
      FROM ${table} WHERE ${tag("portside_owner")} IN ('${accountDigest(owner)}', '${ownerDigits(owner)}'))
    GROUP BY used_on, used, used_sku, used_unit, charged_in, deployment`);
