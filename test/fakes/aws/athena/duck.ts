/**
 * Runs Trino SQL on DuckDB. The translator does most of the work; this file fixes where its output differs in meaning.
 */
import { generate, parse, transpile } from "@polyglot-sql/sdk";
import { call, isObject, type Json, listOf, nodeOf } from "../../../../adapters/shared/sql/googlesql/tree.ts";

/** Trino functions that DuckDB lacks or defines differently. https://trino.io/docs/current/functions.html */
export const macros: readonly string[] = [
  "json_parse(s) AS CAST(s AS JSON)",
  // "Returns ... scalar values as string": null for an object or a list.
  "tr_json_scalar(j, p) AS (CASE WHEN json_type(j, p) IN ('OBJECT', 'ARRAY', 'NULL') THEN NULL ELSE j ->> p END)",
  "with_timezone(t, z) AS (CAST(t AS TIMESTAMP) AT TIME ZONE z)",
  "is_infinite(x) AS isinf(x)",
  "from_unixtime_nanos(n) AS (make_timestamp(n // 1000) AT TIME ZONE 'UTC')",
  "array_join(l, s) AS array_to_string(l, s)",
  "approx_percentile(x, p) AS quantile_disc(x, p)",
  // Counts complete units, while DuckDB's date_diff counts boundaries.
  "tr_date_diff(unit, a, b) AS date_sub(unit, a, b)",
  `tr_date_add(unit, n, t) AS (t + CASE unit WHEN 'millisecond' THEN to_milliseconds(n) WHEN 'second' THEN to_seconds(n)
    WHEN 'minute' THEN to_minutes(n) WHEN 'hour' THEN to_hours(n) WHEN 'day' THEN to_days(CAST(n AS INTEGER))
    WHEN 'week' THEN to_days(CAST(7 * n AS INTEGER)) WHEN 'month' THEN to_months(CAST(n AS INTEGER))
    WHEN 'quarter' THEN to_months(CAST(3 * n AS INTEGER)) ELSE to_years(CAST(n AS INTEGER)) END)`,
  // "If any argument is null, the result is null."
  "tr_least(l) AS (CASE WHEN list_count(l) = len(l) THEN list_min(l) END)",
  "tr_greatest(l) AS (CASE WHEN list_count(l) = len(l) THEN list_max(l) END)",
  "tr_json_text(j) AS (j ->> '$')",
  "tr_md5(x) AS unhex(md5(x))",
  "tr_not_null(m) AS map_from_entries(list_filter(map_entries(m), lambda e: e.value IS NOT NULL))",
  "tr_typeof(x) AS ('duck:' || typeof(x))",
];

const isText = (value: Json | undefined): boolean => {
  const node = nodeOf(value);
  return node?.kind === "literal" && node.body["literal_type"] === "string";
};

const isDate = (value: Json | undefined): boolean => {
  const node = nodeOf(value);
  if (node?.kind === "paren") return isDate(node.body["this"]);
  return node?.kind === "cast" && isObject(node.body["to"]) && node.body["to"]["data_type"] === "date";
};

const isCall = (value: Json | undefined, name: string): boolean => {
  const node = nodeOf(value);
  return node?.kind === "function" && String(node.body["name"]).toLowerCase() === name;
};

const isJson = (value: Json | undefined): boolean =>
  isCall(value, "json_parse") || nodeOf(value)?.kind === "json_extract";

const isVarchar = (value: Json): boolean => {
  const to = nodeOf(value)?.body["to"];
  return isObject(to) && String(to["data_type"]).startsWith("var") && to["data_type"] !== "varbinary";
};

const asDate = (value: Json): Json => ({
  cast: {
    this: value,
    to: { data_type: "date" },
    trailing_comments: [],
    double_colon_syntax: false,
    format: null,
    default: null,
  },
});

const changed = (kind: string, name: string, args: readonly Json[], self: Json): Json | undefined => {
  switch (name) {
    case "json_extract_scalar":
      return call("tr_json_scalar", args);
    case "date_diff":
      return call("tr_date_diff", args);
    case "md5":
      return call("tr_md5", args);
    case "map_filter":
      return call("tr_not_null", args.slice(0, 1));
    case "typeof":
      return call("tr_typeof", args);
    case "element_at":
      return call(isText(args[1]) ? "map_extract_value" : "list_extract", args);
    case "reverse":
      return nodeOf(args[0])?.kind === "array_func" ? call("list_reverse", args) : undefined;
    case "date_add": {
      const moved = call("tr_date_add", args);
      return isDate(args[2]) ? asDate(moved) : moved;
    }
    case "date_trunc":
      return isDate(args[1]) ? asDate(self) : undefined;
    case "least":
    case "greatest":
      return call(`tr_${name}`, [
        { array_func: { expressions: args, bracket_notation: true, use_list_keyword: false } },
      ]);
    case "length":
      return isCall(args[0], "to_utf8") ? call("strlen", listOf(nodeOf(args[0])?.body["args"])) : undefined;
    case "cast":
      return isJson(args[0]) && isVarchar(self) ? call("tr_json_text", args.slice(0, 1)) : undefined;
    default:
      return kind === "" ? self : undefined;
  }
};

const argsOf = (kind: string, body: { readonly [key: string]: Json | undefined }): readonly Json[] =>
  kind === "function" || listOf(body["args"]).length > 0
    ? listOf(body["args"])
    : ([body["this"], body["path"] ?? body["expression"] ?? body["index"]].filter((one) => one != null) as Json[]);

const adapted = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(adapted);
  if (!isObject(value)) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, adapted(one as Json)]));
  const node = nodeOf(inner);
  if (node === undefined) return inner;
  const name = node.kind === "function" ? String(node.body["name"]).toLowerCase() : node.kind;
  return changed(node.kind, name, argsOf(node.kind, node.body), inner) ?? inner;
};

const one = ({ success, sql, error }: { success: boolean; sql?: readonly string[]; error?: string | null }): string => {
  if (!success || sql?.[0] === undefined) throw new Error(`Parser Error: ${error}`);
  return sql[0];
};

/** DuckDB must unnest a list of rows into columns. */
const ROWS = /CROSS JOIN UNNEST\((\w+\.logevents)\) AS/g;

export const toDuck = (statement: string): string => {
  const { success, ast, error } = parse(statement, "trino" as never);
  if (!success) throw new Error(`Parser Error: ${error}`);
  const text = one(generate(adapted(ast as unknown as Json) as never, "trino" as never) as never);
  const duck = one(transpile(text, "trino" as never, "duckdb" as never) as never);
  return duck.replace(ROWS, "CROSS JOIN LATERAL (SELECT UNNEST($1, max_depth := 2)) AS");
};
