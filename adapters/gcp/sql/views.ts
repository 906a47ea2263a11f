/**
 * Defines an account's tables `logs` and `billing` in GoogleSQL. They read the log bucket's linked dataset and the
 * detailed billing export.
 * https://cloud.google.com/logging/docs/analyze/query-linked-dataset,
 * https://cloud.google.com/billing/docs/how-to/export-data-bigquery-tables/detailed-usage
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { RESOURCE_TYPE } from "../../../core/domain/logs/filter/record.ts";
import { OWNER_LABEL, SERVICE_LABEL } from "../../cloud/deploy/labels.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { INSTANCE_LABEL } from "../logs/entry.ts";
import { logIds } from "../logs/names.ts";
import { severityColumn } from "./severity.ts";

/** The linked dataset's view of all logs in the bucket. */
export const LOG_VIEW = "_AllLogs";

const line = (text: string): string => text.replace(/\s*\n\s*/g, " ").trim();

const label = (name: string): string => `JSON_VALUE(labels, '$."${name}"')`;

const logNames = Object.entries(logIds)
  .map(([id, name]) => `WHEN '${id}' THEN '${name}'`)
  .join(" ");

const ids = Object.keys(logIds)
  .map((id) => `'${id}'`)
  .join(", ");

/** A duration in protobuf's JSON form, with 0, 3, 6 or 9 fractional digits. */
const latency = `CONCAT(REGEXP_REPLACE(CONCAT(CAST(IFNULL(http_request.latency.seconds, 0) AS STRING), '.',
  LPAD(CAST(IFNULL(http_request.latency.nanos, 0) AS STRING), 9, '0')), r'(\\.000000000|000000|000)$', ''), 's')`;

const http = `IF(http_request IS NULL, NULL, JSON_STRIP_NULLS(TO_JSON(STRUCT(
  http_request.request_method AS requestMethod, http_request.request_url AS requestUrl,
  NULLIF(http_request.request_size, 0) AS requestSize, http_request.status AS status,
  NULLIF(http_request.response_size, 0) AS responseSize, NULLIF(http_request.user_agent, '') AS userAgent,
  NULLIF(http_request.remote_ip, '') AS remoteIp, NULLIF(http_request.protocol, '') AS protocol,
  ${latency} AS latency))))`;

/** The account's digest as a SQL literal. Needs no escaping: digests are hexadecimal. */
const owned = (owner: AccountId): string => `'${accountDigest(owner)}'`;

/** @param dataset `PROJECT.DATASET` */
export const logsView = (dataset: string, region: string, owner: AccountId): string =>
  line(`SELECT timestamp, ${severityColumn} AS severity, CASE log_id ${logNames} END AS log_name,
    CONCAT(FORMAT_TIMESTAMP('%Y-%m-%dT%H:%M:%E6S', timestamp), '-', insert_id) AS insert_id,
    STRUCT(resource.type AS type, JSON_STRIP_NULLS(JSON_OBJECT(
      'service_name', JSON_VALUE(resource.labels, '$.service_name'),
      'revision_name', JSON_VALUE(resource.labels, '$.revision_name'),
      'instance_id', ${label(INSTANCE_LABEL)})) AS labels) AS resource,
    json_payload, text_payload, ${http} AS http_request
    FROM \`${dataset}.${LOG_VIEW}\`
    WHERE resource.type = '${RESOURCE_TYPE}' AND JSON_VALUE(resource.labels, '$.location') = '${region}'
      AND log_id IN (${ids}) AND ${label(OWNER_LABEL)} = ${owned(owner)}`);

const billed = (name: string): string => `(SELECT MAX(l.value) FROM UNNEST(labels) AS l WHERE l.key = '${name}')`;

/** Credits are negative amounts (`credits.amount` on the page about the export). */
const netCost = `CAST(cost AS NUMERIC)
  + IFNULL((SELECT SUM(CAST(c.amount AS NUMERIC)) FROM UNNEST(credits) AS c), 0)`;

/** One row per day, SKU and deployment. `cost` is the net cost, after credits. @param table `PROJECT.DATASET.TABLE` */
export const billingView = (table: string, owner: AccountId): string =>
  line(`SELECT day AS usage_start_time, TIMESTAMP_ADD(day, INTERVAL 1 DAY) AS usage_end_time,
    STRUCT(used AS description) AS service, STRUCT(used_sku AS description) AS sku,
    STRUCT(SUM(CAST(amount AS NUMERIC)) AS amount, used_unit AS unit) AS usage, SUM(charge) AS cost,
    charged_in AS currency, STRUCT(deployment AS name) AS resource
    FROM (SELECT TIMESTAMP_TRUNC(usage_start_time, DAY) AS day, service.description AS used, sku.description AS used_sku,
      usage.amount AS amount, usage.unit AS used_unit, ${netCost} AS charge, currency AS charged_in,
      ${billed(SERVICE_LABEL)} AS deployment
      FROM \`${table}\` WHERE ${billed(OWNER_LABEL)} = ${owned(owner)})
    GROUP BY day, used, used_sku, used_unit, charged_in, deployment`);
