/**
 * The last check before DuckDB runs a statement, on DuckDB's own syntax tree. The statement may read only `logs`,
 * `billing` and its WITH clauses, and may call only listed functions and Portside's macros. The check does not rely on
 * the statement rule or the translator.
 */
import { isObject, type Json, type JsonObject, listOf } from "./tree.ts";
import { wordsOf } from "./words.ts";

const tables: ReadonlySet<string> = new Set(["logs", "billing"]);

/** The functions that translated statements call. None of them takes a table name or a file path. */
const functions: ReadonlySet<string> = new Set(
  wordsOf(`
    + - * / // % ** || & | # ~ ~~ !~~ << >> -> ->> [] xor
    count count_star count_if sum avg min max any_value first last array_agg list listagg string_agg group_concat
    approx_count_distinct quantile_disc bool_and bool_or stddev stddev_pop stddev_samp variance var_samp var_pop
    row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
    coalesce nullif if greatest least ifnull case
    concat length char_length octet_length lower upper trim ltrim rtrim substr substring starts_with ends_with prefix
    suffix strpos instr replace reverse left right str_split string_split split contains typeof encode
    abs sign round trunc ceil ceiling floor pow power sqrt exp ln log10 mod
    current_timestamp get_current_timestamp now current_date today date_trunc date_diff date_part epoch to_years
    to_months to_days to_hours to_minutes to_seconds to_microseconds to_milliseconds to_weeks to_quarters
    json json_extract json_extract_string to_json array_length len array_to_string list_concat array_concat
    array_reverse list_reverse list_value list_contains array_contains array_extract list_extract struct_extract
    struct_pack row unnest list_count array_slice list_slice map_extract element_at is_nan is_inf
    to_base64 from_base64 base64 hex to_hex unhex like_escape not_like_escape timezone list_element array
  `),
);

const isAllowed = (name: string): boolean => functions.has(name) || /^bq_[a-z0-9_]+$/.test(name);

const refusedTypes: ReadonlySet<string> = new Set(["SHOW_REF", "COLUMN_DATA", "PIVOT", "DELIM_GET", "BOUND_TABLE_REF"]);

/** Returns why a node must not run, or undefined if it may. Ignores the children of the node. */
const judge = (node: JsonObject, names: ReadonlySet<string>): string | undefined => {
  const type = String(node["type"] ?? "");
  if (type === "BASE_TABLE") {
    const name = String(node["table_name"]).toLowerCase();
    const isPlain = !node["schema_name"] && !node["catalog_name"];
    return isPlain && (tables.has(name) || names.has(name)) ? undefined : `the table '${name}' is not supported`;
  }
  if (type === "TABLE_FUNCTION") {
    const name = isObject(node["function"]) ? String(node["function"]["function_name"]) : "";
    return name === "unnest" ? undefined : `the table function ${name} is not supported`;
  }
  if (type === "RECURSIVE_CTE_NODE" || refusedTypes.has(type)) return "this form of query is not supported";
  if (node["class"] !== "FUNCTION") return undefined;
  const name = String(node["function_name"]).toLowerCase();
  // The parser itself adds the schema to the names of some functions.
  const isPlain = ["", "main", "pg_catalog"].includes(String(node["schema"] ?? "")) && !node["catalog"];
  return isPlain && isAllowed(name) ? undefined : `the function ${name} is not supported`;
};

/** Yields the reasons for a rejection. `names` are the names of WITH clauses in scope. */
function* refusals(value: Json | undefined, names: ReadonlySet<string>): Generator<string> {
  if (Array.isArray(value)) for (const one of value as readonly Json[]) yield* refusals(one, names);
  if (!isObject(value)) return;
  const refused = judge(value, names);
  if (refused !== undefined) yield refused;
  const scope = new Set(names);
  for (const one of isObject(value["cte_map"]) ? listOf(value["cte_map"]["map"]) : []) {
    if (!isObject(one)) continue;
    yield* refusals(one["value"], scope);
    scope.add(String(one["key"]).toLowerCase());
  }
  for (const [key, one] of Object.entries(value)) if (key !== "cte_map") yield* refusals(one, scope);
}

/** Returns why a tree of `json_serialize_sql` must not run, or undefined if it may. */
export const rejectionReason = (serialized: string): string | undefined => {
  const tree = JSON.parse(serialized) as JsonObject;
  const [statement, ...more] = listOf(tree["statements"]);
  if (tree["error"] !== false || statement === undefined || more.length > 0) return "it is not a single SELECT";
  const [refused] = refusals(statement, new Set());
  return refused;
};
