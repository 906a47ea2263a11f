/** DuckDB macros for GoogleSQL functions that DuckDB lacks or defines differently. Each macro has a golden test. */

const IN_UTC = "AT TIME ZONE 'UTC'";

const extracts = ["year", "isoyear", "quarter", "month", "day", "dayofyear", "hour", "minute", "second"].map(
  (part) => `bq_extract_${part}(t) AS CAST(extract(${part} FROM t) AS BIGINT)`,
);

const macros: readonly string[] = [
  // Returns scalars as text. Returns NULL for objects, arrays and nulls, for which `->>` alone would return text.
  "bq_json_value(j, p := '$') AS (CASE WHEN json_type(j, p) IN ('OBJECT', 'ARRAY', 'NULL') THEN NULL ELSE j ->> p END)",
  "bq_json_query(j, p := '$') AS (j -> p)",
  "bq_json_value_array(j, p := '$') AS CAST((j -> p) AS VARCHAR[])",
  "bq_json_query_array(j, p := '$') AS CAST((j -> p) AS JSON[])",
  `bq_json_type(j) AS (CASE json_type(j) WHEN 'VARCHAR' THEN 'string' WHEN 'OBJECT' THEN 'object'
    WHEN 'ARRAY' THEN 'array' WHEN 'BOOLEAN' THEN 'boolean' WHEN 'NULL' THEN 'null' ELSE 'number' END)`,
  "bq_json_int64(j) AS CAST(j AS BIGINT)",
  "bq_json_float64(j) AS CAST(j AS DOUBLE)",
  "bq_json_string(j) AS (j ->> '$')",
  "bq_json_bool(j) AS CAST(j AS BOOLEAN)",
  "bq_regexp_contains(s, r) AS regexp_matches(s, r)",
  // Returns the first group if the expression has one, otherwise the whole match, or NULL without a match.
  ...[0, 1].flatMap((group) => [
    `bq_regexp_extract_${group}(s, r) AS (CASE WHEN regexp_matches(s, r) THEN regexp_extract(s, r, ${group}) END)`,
    `bq_regexp_extract_all_${group}(s, r) AS regexp_extract_all(s, r, ${group})`,
  ]),
  "bq_regexp_replace(s, r, t) AS regexp_replace(s, r, t, 'g')",
  "bq_byte_length(s) AS strlen(s)",
  "bq_is_nan(x) AS isnan(x)",
  "bq_is_inf(x) AS isinf(x)",
  "bq_mod(a, b) AS ((a) % (b))",
  "bq_div(a, b) AS ((a) // (b))",
  "bq_safe_divide(a, b) AS (CASE WHEN (b) <> 0 THEN (a) / (b) END)",
  "bq_md5(x) AS unhex(md5(x))",
  "bq_numeric(x) AS CAST(x AS DECIMAL(38, 9))",
  "bq_safe_numeric(x) AS TRY_CAST(x AS DECIMAL(38, 9))",
  "bq_timestamp(x) AS CAST(x AS TIMESTAMPTZ)",
  "bq_safe_timestamp(x) AS TRY_CAST(x AS TIMESTAMPTZ)",
  `bq_date(t) AS CAST(t AS DATE)`,
  "bq_timestamp_add(t, i) AS (t + i)",
  "bq_timestamp_sub(t, i) AS (t - i)",
  "bq_date_add(d, i) AS CAST(d + i AS DATE)",
  "bq_date_sub(d, i) AS CAST(d - i AS DATE)",
  "bq_timestamp_trunc(part, t) AS date_trunc(part, t)",
  "bq_date_trunc(part, d) AS CAST(date_trunc(part, d) AS DATE)",
  // GoogleSQL's week begins on Sunday, DuckDB's on Monday.
  "bq_timestamp_trunc_sunday(t) AS (date_trunc('week', t + INTERVAL 1 DAY) - INTERVAL 1 DAY)",
  "bq_date_trunc_sunday(d) AS CAST(date_trunc('week', d + INTERVAL 1 DAY) - INTERVAL 1 DAY AS DATE)",
  // For timestamps, counts elapsed whole units. For dates, counts crossed boundaries.
  "bq_timestamp_diff(part, a, b) AS date_sub(part, a, b)",
  "bq_date_diff(part, a, b) AS date_diff(part, a, b)",
  `bq_format_timestamp(f, t) AS strftime(t ${IN_UTC}, f)`,
  "bq_format_date(f, d) AS strftime(d, f)",
  `bq_parse_timestamp(f, s) AS (strptime(s, f) ${IN_UTC})`,
  "bq_parse_date(f, s) AS CAST(strptime(s, f) AS DATE)",
  "bq_unix_seconds(t) AS CAST(floor(epoch_us(t) / 1000000) AS BIGINT)",
  "bq_unix_millis(t) AS CAST(floor(epoch_us(t) / 1000) AS BIGINT)",
  "bq_unix_micros(t) AS epoch_us(t)",
  `bq_timestamp_seconds(n) AS (make_timestamp(CAST(n AS BIGINT) * 1000000) ${IN_UTC})`,
  `bq_timestamp_millis(n) AS (make_timestamp(CAST(n AS BIGINT) * 1000) ${IN_UTC})`,
  `bq_timestamp_micros(n) AS (make_timestamp(CAST(n AS BIGINT)) ${IN_UTC})`,
  ...extracts,
  "bq_extract_isoweek(t) AS CAST(extract(week FROM t) AS BIGINT)",
  `bq_extract_week(t) AS CAST(strftime(CAST(t AS DATE), '%U') AS BIGINT)`,
  "bq_extract_dayofweek(t) AS (extract(dow FROM t) + 1)",
  "bq_extract_millisecond(t) AS (extract(millisecond FROM t) % 1000)",
  "bq_extract_date(t) AS CAST(t AS DATE)",
];

export const createMacros: readonly string[] = macros.map((macro) => `CREATE OR REPLACE MACRO ${macro}`);
