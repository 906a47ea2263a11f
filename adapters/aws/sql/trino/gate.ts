/**
 * Checks a translated statement before Portside sends it. The statement may read only `logs`, `billing` and its own
 * WITH clauses, and may call only known functions. The check parses the final text, so it does not rely on the rules
 * for the original statement or on the translator.
 */
import type { StatementSummary } from "../../../../core/domain/sql/statement.ts";
import { sqlTableNames } from "../../../../core/domain/sql/tables.ts";

/** The functions that a translated statement may call. */
const functions: ReadonlySet<string> = new Set(
  [
    "count count_if sum avg min max any_value array_agg approx_distinct approx_percentile bool_and bool_or every",
    "stddev stddev_pop stddev_samp variance var_samp var_pop countif logical_and logical_or approx_count_distinct",
    "row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value",
    "if coalesce nullif greatest least cast try_cast safe_cast exists ifnull",
    "concat length char_length lower upper trim ltrim rtrim substr substring starts_with strpos replace reverse split",
    "regexp_like regexp_extract regexp_extract_all regexp_replace to_utf8 array_join cardinality element_at typeof",
    "abs sign round truncate ceil ceiling floor mod power pow sqrt exp ln log10 log is_nan is_infinite",
    "current_timestamp current_date date_trunc date_add date_sub date_diff date_format date_parse with_timezone",
    "from_unixtime from_unixtime_nanos to_unixtime year year_of_week quarter month day day_of_year day_of_week hour",
    "minute second millisecond week extract day_of_month json_parse json_format json_extract json_extract_scalar",
    "parse_json to_json to_base64 from_base64 to_hex from_hex md5 array array_length array_concat array_reverse row",
    "unnest lower_hex hex safe_element array_to_string position str_position array_size",
  ]
    .join(" ")
    .split(" "),
);

/** Returns the reason to reject the statement; undefined if Portside may send it. */
export const rejectionOf = ({ tables, tableFunctions, functions: called }: StatementSummary): string | undefined => {
  const table = tables.find(({ name }) => !sqlTableNames.has(name.toLowerCase()));
  if (table !== undefined) return `the table '${table.name}' is not available`;
  const [tableFunction] = tableFunctions;
  if (tableFunction !== undefined) return `the table function ${tableFunction.name} is not available`;
  const unsupported = called.find(({ name }) => !functions.has(name.toLowerCase()));
  return unsupported === undefined ? undefined : `the function ${unsupported.name} is not supported here`;
};
