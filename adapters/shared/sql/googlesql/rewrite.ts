/**
 * Rewrites parts of a GoogleSQL tree that the translator would change in meaning. Such functions become calls of macros
 * with GoogleSQL's semantics (`macros.ts`). The golden tests of the function list verify it.
 */
import { call, isObject, type Json, type JsonObject, listOf, nameOf, nodeOf, number, text } from "./tree.ts";
import { timeParts } from "./words.ts";

/** Thrown for constructs that the statement rule cannot detect and that engines would interpret differently. */
export class NotOffered extends Error {}

/** Functions that become a macro with the same arguments. */
const renamed: Readonly<Record<string, string>> = {
  REGEXP_CONTAINS: "bq_regexp_contains",
  REGEXP_REPLACE: "bq_regexp_replace",
  BYTE_LENGTH: "bq_byte_length",
  IS_NAN: "bq_is_nan",
  IS_INF: "bq_is_inf",
  MOD: "bq_mod",
  DIV: "bq_div",
  DATE: "bq_date",
  TIMESTAMP: "bq_timestamp",
  TIMESTAMP_ADD: "bq_timestamp_add",
  TIMESTAMP_SUB: "bq_timestamp_sub",
  DATE_ADD: "bq_date_add",
  DATE_SUB: "bq_date_sub",
  FORMAT_TIMESTAMP: "bq_format_timestamp",
  FORMAT_DATE: "bq_format_date",
  PARSE_TIMESTAMP: "bq_parse_timestamp",
  PARSE_DATE: "bq_parse_date",
  UNIX_SECONDS: "bq_unix_seconds",
  UNIX_MILLIS: "bq_unix_millis",
  UNIX_MICROS: "bq_unix_micros",
  TIMESTAMP_SECONDS: "bq_timestamp_seconds",
  TIMESTAMP_MILLIS: "bq_timestamp_millis",
  TIMESTAMP_MICROS: "bq_timestamp_micros",
  JSON_VALUE: "bq_json_value",
  JSON_QUERY: "bq_json_query",
  JSON_EXTRACT_SCALAR: "bq_json_value",
  JSON_EXTRACT: "bq_json_query",
  JSON_VALUE_ARRAY: "bq_json_value_array",
  JSON_QUERY_ARRAY: "bq_json_query_array",
  JSON_TYPE: "bq_json_type",
  INT64: "bq_json_int64",
  FLOAT64: "bq_json_float64",
  STRING: "bq_json_string",
  BOOL: "bq_json_bool",
  MD5: "bq_md5",
};

const partOf = (argument: Json | undefined, allowed: readonly string[]): string => {
  const node = nodeOf(argument);
  const word = node?.kind === "var" ? String(node.body["this"]) : nameOf(node?.body["name"]);
  const part = (word || String(node?.body["name"] ?? "")).toUpperCase();
  if (!allowed.includes(part)) throw new NotOffered(`${part || "this part of a time"} is not supported`);
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

/** Returns exact quantiles in place of approximate ones. */
const quantiles = ([value, count]: readonly Json[]): Json => {
  const wanted = Number(nodeOf(count)?.body["value"]);
  if (!(wanted >= 1 && wanted <= 1000)) throw new NotOffered("APPROX_QUANTILES takes a number from 1 to 1000");
  const steps = Array.from({ length: wanted + 1 }, (_, n) => number(String(n / wanted)));
  const list: Json = { array_func: { expressions: steps, bracket_notation: true, use_list_keyword: false } };
  return call("quantile_disc", [value as Json, list]);
};

/** The engine must know in advance whether the expression has a group. */
const extractedMatch = (name: string, [value, pattern, ...more]: readonly Json[]): Json => {
  const literal = nodeOf(pattern);
  if (literal?.kind !== "literal" || more.length > 0)
    throw new NotOffered(`${name} takes a string and a literal regular expression`);
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
      if (args.length !== 2) throw new NotOffered(`${name} takes a time and a part; the time zone is always UTC`);
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
    throw new NotOffered("NUMERIC with a precision is not supported");
  return call(kind === "cast" ? `bq_${macro}` : `bq_safe_${macro}`, [body["this"] as Json]);
};

const rewriteExtract = (body: JsonObject): Json => {
  const field = isObject(body["field"]) ? String(Object.values(body["field"])[0]) : String(body["field"]);
  const part = field.toUpperCase();
  if (!(timeParts.extract as readonly string[]).includes(part))
    throw new NotOffered(`EXTRACT of ${part} is not supported`);
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
      if ((body["limit"] ?? null) !== null) throw new NotOffered("LIMIT in ARRAY_AGG is not supported");
      return undefined;
    default:
      return undefined;
  }
};

/** Returns the tree with GoogleSQL's semantics, in terms of the engine. */
export const rewrite = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(rewrite);
  if (!isObject(value)) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, rewrite(one as Json)]));
  const node = nodeOf(inner);
  return (node === undefined ? undefined : rewriteNode(node.kind, node.body)) ?? inner;
};
