/**
 * Rewrites the parts of a GoogleSQL tree whose meaning the translator would change. Functions become macros with
 * GoogleSQL's semantics (`macros.ts`). Golden tests check every function.
 */
import { call, isObject, type Json, type JsonObject, listOf, nameOf, nodeOf, number, text } from "./tree.ts";
import { timeParts, wordsOf } from "./words.ts";

/** Thrown for unsupported constructs that the statement rule cannot detect. */
export class UnsupportedSyntax extends Error {}

/** Functions that become a macro named `bq_` and the function's name in lower case, with the same arguments. */
const prefixed = wordsOf(`
  REGEXP_CONTAINS REGEXP_REPLACE BYTE_LENGTH IS_NAN IS_INF MOD DIV DATE TIMESTAMP TIMESTAMP_ADD TIMESTAMP_SUB
  DATE_ADD DATE_SUB FORMAT_TIMESTAMP FORMAT_DATE PARSE_TIMESTAMP PARSE_DATE UNIX_SECONDS UNIX_MILLIS UNIX_MICROS
  TIMESTAMP_SECONDS TIMESTAMP_MILLIS TIMESTAMP_MICROS JSON_VALUE JSON_QUERY JSON_VALUE_ARRAY JSON_QUERY_ARRAY
  JSON_TYPE MD5
`);

/** Functions that become a macro with the same arguments. */
const renamed: Readonly<Record<string, string>> = {
  ...Object.fromEntries(prefixed.map((name) => [name, `bq_${name.toLowerCase()}`])),
  JSON_EXTRACT_SCALAR: "bq_json_value",
  JSON_EXTRACT: "bq_json_query",
  INT64: "bq_json_int64",
  FLOAT64: "bq_json_float64",
  STRING: "bq_json_string",
  BOOL: "bq_json_bool",
};

const partOf = (argument: Json | undefined, allowed: readonly string[]): string => {
  const node = nodeOf(argument);
  const word = node?.kind === "var" ? String(node.body["this"]) : nameOf(node?.body["name"]);
  const part = (word || String(node?.body["name"] ?? "")).toUpperCase();
  if (!allowed.includes(part)) throw new UnsupportedSyntax(`${part || "this part of a time"} is not supported`);
  return part;
};

const truncated = (name: string, [value, part]: readonly Json[]): Json => {
  const word = partOf(part, timeParts.truncate);
  const unit = word === "ISOWEEK" ? "week" : word === "WEEK" ? "sunday" : word.toLowerCase();
  const macro = name === "DATE_TRUNC" ? "bq_date_trunc" : "bq_timestamp_trunc";
  return unit === "sunday" ? call(`${macro}_sunday`, [value as Json]) : call(macro, [text(unit), value as Json]);
};

const difference = (name: string, [end, start, part]: readonly Json[]): Json => {
  const isDate = name === "DATE_DIFF";
  const unit = partOf(part, isDate ? timeParts.dateDiff : timeParts.timestampDiff).toLowerCase();
  return call(isDate ? "bq_date_diff" : "bq_timestamp_diff", [text(unit), start as Json, end as Json]);
};

/** Rewrites APPROX_QUANTILES to `quantile_disc`, which is exact in DuckDB and approximate in Trino. */
const quantiles = ([value, count]: readonly Json[]): Json => {
  const wanted = Number(nodeOf(count)?.body["value"]);
  if (!(wanted >= 1 && wanted <= 1000)) throw new UnsupportedSyntax("APPROX_QUANTILES takes a number from 1 to 1000");
  const steps = Array.from({ length: wanted + 1 }, (_, n) => number(String(n / wanted)));
  const list: Json = { array_func: { expressions: steps, bracket_notation: true, use_list_keyword: false } };
  return call("quantile_disc", [value as Json, list]);
};

/** Selects the macro by whether the expression has a group, because DuckDB's function needs the group's number. */
const extractedMatch = (name: string, [value, pattern, ...more]: readonly Json[]): Json => {
  const literal = nodeOf(pattern);
  if (literal?.kind !== "literal" || more.length > 0)
    throw new UnsupportedSyntax(`${name} takes a string and a literal regular expression`);
  const bare = String(literal.body["value"]).replace(/\\.|\[\^?\]?[^\]]*\]|\(\?[^P<]/g, "");
  return call(`bq_${name.toLowerCase()}_${bare.includes("(") ? 1 : 0}`, [value as Json, pattern as Json]);
};

const joinTexts = (args: readonly Json[]): Json =>
  args.reduce((left, right) => ({
    concat: { left, right, left_comments: [], operator_comments: [], trailing_comments: [] },
  }));

const rewriteCall = (name: string, body: JsonObject, args: readonly Json[]): Json | undefined => {
  switch (name) {
    case "TIMESTAMP_TRUNC":
    case "DATE_TRUNC":
      if (args.length !== 2)
        throw new UnsupportedSyntax(`${name} takes a time and a part; the time zone is always UTC`);
      return truncated(name, args);
    case "TIMESTAMP_DIFF":
    case "DATE_DIFF":
      return difference(name, args);
    case "REGEXP_EXTRACT":
    case "REGEXP_EXTRACT_ALL":
      return extractedMatch(name, args);
    case "APPROX_QUANTILES":
      return quantiles(args);
    case "CONCAT":
      return args.length === 0 ? undefined : { paren: { this: joinTexts(args), trailing_comments: [] } };
    default: {
      const macro = renamed[name];
      return macro === undefined ? undefined : { function: { ...body, name: macro, args } };
    }
  }
};

/** Types that need a macro: NUMERIC has nine decimal places, and a TIMESTAMP is an instant, not a local time. */
const castMacros: Readonly<Record<string, string>> = { decimal: "numeric", timestamp: "timestamp" };

const rewriteCast = (kind: string, body: JsonObject): Json | undefined => {
  const to = body["to"];
  const macro = isObject(to) ? castMacros[String(to["data_type"])] : undefined;
  if (macro === undefined) return undefined;
  if (isObject(to) && (to["precision"] ?? null) !== null)
    throw new UnsupportedSyntax("NUMERIC with a precision is not supported");
  return call(kind === "cast" ? `bq_${macro}` : `bq_safe_${macro}`, [body["this"] as Json]);
};

const rewriteExtract = (body: JsonObject): Json => {
  const field = isObject(body["field"]) ? String(Object.values(body["field"])[0]) : String(body["field"]);
  const part = field.toUpperCase();
  if (!timeParts.extract.includes(part)) throw new UnsupportedSyntax(`EXTRACT of ${part} is not supported`);
  return call(`bq_extract_${part.toLowerCase()}`, [body["this"] as Json]);
};

const rewriteNode = (kind: string, body: JsonObject): Json | undefined => {
  switch (kind) {
    case "function":
    case "aggregate_function":
      return rewriteCall(String(body["name"]).toUpperCase(), body, listOf(body["args"]));
    case "cast":
    case "safe_cast":
    case "try_cast":
      return rewriteCast(kind, body);
    case "extract":
      return rewriteExtract(body);
    case "json_value":
    case "json_query":
    case "json_extract_scalar":
    case "json_extract":
      return call(kind.includes("scalar") || kind === "json_value" ? "bq_json_value" : "bq_json_query", [
        body["this"] as Json,
        ...(body["path"] ? [body["path"]] : []),
      ]);
    case "json_type":
      return call("bq_json_type", [body["this"] as Json]);
    case "timestamp":
      return call("bq_timestamp", [body["this"] as Json]);
    case "mod_func":
      return call("bq_mod", [body["this"] as Json, body["expression"] as Json]);
    case "safe_divide":
      return call("bq_safe_divide", [body["this"] as Json, body["expression"] as Json]);
    case "array_agg":
      if ((body["limit"] ?? null) !== null) throw new UnsupportedSyntax("LIMIT in ARRAY_AGG is not supported");
      return undefined;
    default:
      return undefined;
  }
};

/** Returns a tree that DuckDB runs with GoogleSQL's semantics. */
export const rewrite = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(rewrite);
  if (!isObject(value)) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, rewrite(one as Json)]));
  const node = nodeOf(inner);
  return (node === undefined ? undefined : rewriteNode(node.kind, node.body)) ?? inner;
};
