/**
 * GoogleSQL functions that differ in Trino. Each `bq_NAME` that `rewrite.ts` calls is a Trino expression with `$1`,
 * `$2` and so on as its arguments. The expressions are inlined, because Athena supports user-defined functions only
 * through Lambda. https://trino.io/docs/current/functions.html; Athena supports the subset in
 * https://docs.aws.amazon.com/athena/latest/ug/functions-env3.html.
 */

const EPOCH = "from_unixtime(0)";
const TIMESTAMP = "TIMESTAMP(6) WITH TIME ZONE";
const monday = (type: string) => `CAST(date_add('day', -1, date_trunc('week', date_add('day', 1, $1))) AS ${type})`;

export const trinoMacros: Readonly<Record<string, string>> = {
  bq_json_value: "json_extract_scalar($1, $2)",
  bq_json_query: "json_extract($1, $2)",
  bq_json_value_array: "CAST(json_extract($1, $2) AS ARRAY(VARCHAR))",
  bq_json_query_array: "CAST(json_extract($1, $2) AS ARRAY(JSON))",
  bq_json_type: `CASE substr(json_format($1), 1, 1) WHEN '"' THEN 'string' WHEN '{' THEN 'object' WHEN '[' THEN 'array'
    WHEN 't' THEN 'boolean' WHEN 'f' THEN 'boolean' WHEN 'n' THEN 'null' ELSE 'number' END`,
  bq_json_int64: "CAST($1 AS BIGINT)",
  bq_json_float64: "CAST($1 AS DOUBLE)",
  bq_json_string: "CAST($1 AS VARCHAR)",
  bq_json_bool: "CAST($1 AS BOOLEAN)",
  bq_regexp_contains: "regexp_like($1, $2)",
  bq_regexp_extract_0: "regexp_extract($1, $2)",
  bq_regexp_extract_1: "regexp_extract($1, $2, 1)",
  bq_regexp_extract_all_0: "regexp_extract_all($1, $2)",
  bq_regexp_extract_all_1: "regexp_extract_all($1, $2, 1)",
  bq_regexp_replace: "regexp_replace($1, $2, $3)",
  bq_byte_length: "length(to_utf8($1))",
  bq_is_nan: "is_nan($1)",
  bq_is_inf: "is_infinite($1)",
  bq_mod: "mod($1, $2)",
  // Trino's integer division drops the fraction.
  bq_div: "(CAST($1 AS BIGINT) / CAST($2 AS BIGINT))",
  bq_safe_divide: "CASE WHEN $2 <> 0 THEN CAST($1 AS DOUBLE) / $2 END",
  bq_bytes: "from_hex($1)",
  bq_md5: "md5(to_utf8($1))",
  bq_numeric: "CAST($1 AS DECIMAL(38, 9))",
  bq_safe_numeric: "TRY_CAST($1 AS DECIMAL(38, 9))",
  bq_timestamp: `CAST($1 AS ${TIMESTAMP})`,
  bq_safe_timestamp: `TRY_CAST($1 AS ${TIMESTAMP})`,
  bq_date: "CAST($1 AS DATE)",
  bq_timestamp_trunc: "date_trunc($1, $2)",
  bq_date_trunc: "date_trunc($1, $2)",
  // GoogleSQL's week starts on Sunday, Trino's on Monday.
  bq_timestamp_trunc_sunday: monday(TIMESTAMP),
  bq_date_trunc_sunday: monday("DATE"),
  bq_timestamp_diff: "date_diff($1, $2, $3)",
  // Counts the boundaries between the two dates; Trino's date_diff alone counts complete units.
  bq_date_diff: "date_diff($1, date_trunc($1, $2), date_trunc($1, $3))",
  bq_format_timestamp: "date_format($2, $1)",
  bq_format_date: "date_format($2, $1)",
  bq_parse_timestamp: "with_timezone(date_parse($2, $1), 'UTC')",
  bq_parse_date: "CAST(date_parse($2, $1) AS DATE)",
  bq_unix_seconds: `date_diff('second', ${EPOCH}, $1)`,
  bq_unix_millis: `date_diff('millisecond', ${EPOCH}, $1)`,
  // A double represents the microseconds of this century exactly.
  bq_unix_micros: "CAST(round(to_unixtime($1) * 1000000) AS BIGINT)",
  bq_timestamp_seconds: `date_add('second', $1, ${EPOCH})`,
  bq_timestamp_millis: `date_add('millisecond', $1, ${EPOCH})`,
  bq_timestamp_micros: `CAST(from_unixtime_nanos(CAST($1 AS BIGINT) * 1000) AS ${TIMESTAMP})`,
  bq_extract_year: "year($1)",
  bq_extract_isoyear: "year_of_week($1)",
  bq_extract_quarter: "quarter($1)",
  bq_extract_month: "month($1)",
  bq_extract_day: "day($1)",
  bq_extract_dayofyear: "day_of_year($1)",
  bq_extract_hour: "hour($1)",
  bq_extract_minute: "minute($1)",
  bq_extract_second: "second($1)",
  bq_extract_isoweek: "week($1)",
  // Counts the Sundays of the year up to the day, like strftime's %U.
  bq_extract_week: "((day_of_year($1) + 6 - mod(day_of_week($1), 7)) / 7)",
  bq_extract_dayofweek: "(mod(day_of_week($1), 7) + 1)",
  bq_extract_millisecond: "millisecond($1)",
  bq_extract_date: "CAST($1 AS DATE)",
  // The result is approximate, although the name suggests an exact quantile.
  quantile_disc: "approx_percentile($1, $2)",
  left: "substr($1, 1, $2)",
  right: "substr($1, greatest(length($1) - $2 + 1, 1))",
  ends_with: "(substr($1, length($1) - length($2) + 1) = $2)",
  array_to_string: "array_join($1, $2)",
  array_reverse: "reverse($1)",
  trunc: "truncate($1)",
  string_agg: "array_join(array_agg($1), $2)",
};

/** Defaults of optional arguments. */
export const macroDefaults: Readonly<Record<string, string>> = {
  bq_json_value: "$",
  bq_json_query: "$",
  bq_json_value_array: "$",
  bq_json_query_array: "$",
  string_agg: ",",
};
