/** Rewrites a syntax tree of Trino's dialect: replaces the expressions that Trino does not support. */
import { parse } from "@polyglot-sql/sdk";
import { UnsupportedSyntax } from "../../../shared/sql/googlesql/rewrite.ts";
import {
  call,
  isObject,
  type Json,
  type JsonObject,
  listOf,
  nodeOf,
  number,
  text,
} from "../../../shared/sql/googlesql/tree.ts";
import { trinoFormat, trinoReplacement, trinoTimestamp } from "./formats.ts";
import { macroDefaults, trinoMacros } from "./macros.ts";

/** The parsed expressions of macros, by name. The arguments of a macro are columns named `arg_1`, `arg_2`. */
const templates = new Map<string, Json>();
const templateOf = (name: string): Json => {
  const known = templates.get(name);
  if (known !== undefined) return known;
  const expression = (trinoMacros[name] as string).replace(/\$(\d)(?!['"])/g, "arg_$1");
  const { success, ast, error } = parse(`SELECT ${expression} AS v`, "trino" as never);
  if (!success) throw new Error(`the macro ${name} does not parse: ${error}`);
  const [statement] = ast as unknown as readonly Json[];
  const [alias] = listOf(nodeOf(statement)?.body["expressions"]);
  const template = nodeOf(alias)?.body["this"] as Json;
  templates.set(name, template);
  return template;
};

const substitute = (value: Json, args: readonly Json[]): Json => {
  if (Array.isArray(value)) return value.map((one) => substitute(one, args));
  if (!isObject(value)) return value;
  const node = nodeOf(value);
  const name = node?.kind === "column" && isObject(node.body["name"]) ? String(node.body["name"]["name"]) : "";
  const number = /^arg_(\d)$/.exec(name)?.[1];
  if (number !== undefined) {
    const given = args[Number(number) - 1];
    if (given === undefined) throw new UnsupportedSyntax("a function is missing an argument");
    return given;
  }
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, substitute(one as Json, args)]));
};

const macro = (name: string, args: readonly Json[]): Json => {
  const defaultArg = macroDefaults[name];
  const all = defaultArg === undefined || args.length > 1 ? args : [...args, text(defaultArg)];
  return { paren: { this: substitute(templateOf(name), all), trailing_comments: [] } };
};

const literalOf = (value: Json | undefined): string | undefined => {
  const node = nodeOf(value);
  const isText = node?.kind === "literal" && node.body["literal_type"] !== "number";
  return isText ? String(node.body["value"]) : undefined;
};

const requireLiteral = (name: string, value: Json | undefined): string => {
  const literalText = literalOf(value);
  if (literalText === undefined)
    throw new UnsupportedSyntax(`${name.replace("bq_", "").toUpperCase()} accepts only a literal here`);
  return literalText;
};

const units: ReadonlySet<string> = new Set([
  "millisecond",
  "second",
  "minute",
  "hour",
  "day",
  "week",
  "month",
  "quarter",
  "year",
]);

/** Uses `date_add`, because Trino's intervals have no weeks and accept only literal numbers. */
const addInterval = (value: Json, interval: Json | undefined, sign: 1 | -1): Json => {
  const node = nodeOf(interval);
  const unit =
    node?.kind === "interval" && isObject(node.body["unit"]) ? String(node.body["unit"]["unit"]).toLowerCase() : "";
  if (!units.has(unit)) throw new UnsupportedSyntax(`an interval of ${unit || "this form"} is not supported here`);
  const count = node?.body["this"] as Json;
  const literalText = literalOf(count);
  const whole: Json = literalText === undefined ? count : number(literalText);
  const amount: Json = sign === 1 ? whole : { neg: { this: whole } };
  return call("date_add", [text(unit), amount, value]);
};

const literalTimestamp = (name: string, args: readonly Json[]): Json => {
  const literalText = literalOf(args[0]);
  const timestamp = literalText === undefined ? undefined : trinoTimestamp(literalText);
  return macro(name, timestamp === undefined ? args : [text(timestamp)]);
};

const expandCall = (given: string, args: readonly Json[]): Json | undefined => {
  const name = given.toLowerCase();
  switch (name) {
    case "bq_timestamp":
    case "bq_safe_timestamp":
      return literalTimestamp(name, args);
    case "bq_timestamp_add":
    case "bq_date_add":
      return addInterval(args[0] as Json, args[1], 1);
    case "bq_timestamp_sub":
    case "bq_date_sub":
      return addInterval(args[0] as Json, args[1], -1);
    case "bq_format_timestamp":
    case "bq_format_date":
    case "bq_parse_timestamp":
    case "bq_parse_date":
      return macro(name, [text(trinoFormat(requireLiteral(name, args[0]))), args[1] as Json]);
    case "bq_regexp_replace":
      return macro(name, [args[0] as Json, args[1] as Json, text(trinoReplacement(requireLiteral(name, args[2])))]);
    case "bq_timestamp_trunc":
      return literalOf(args[0]) === "microsecond" ? (args[1] as Json) : macro(name, args);
    case "bq_timestamp_diff":
      if (literalOf(args[0]) === "microsecond")
        throw new UnsupportedSyntax("TIMESTAMP_DIFF in MICROSECOND is not supported here");
      return macro(name, args);
    case "array":
      return arrayOf(args[0]);
    case "row":
      throw new UnsupportedSyntax("STRUCT accepts only literals here; select its fields as columns");
    default:
      return Object.hasOwn(trinoMacros, name) ? macro(name, args) : undefined;
  }
};

/** Translates `ARRAY(SELECT x ...)`. */
const arrayOf = (query: Json | undefined): Json => {
  const node = nodeOf(query);
  const [first, ...more] = node?.kind === "select" ? listOf(node.body["expressions"]) : [];
  if (first === undefined || more.length > 0)
    throw new UnsupportedSyntax("ARRAY accepts only a SELECT with one column");
  const value = nodeOf(first)?.kind === "alias" ? (nodeOf(first)?.body["this"] as Json) : first;
  const aggregate = {
    array_agg: {
      this: value,
      distinct: false,
      filter: null,
      order_by: node?.body["order_by"]
        ? listOf(isObject(node.body["order_by"]) ? node.body["order_by"]["expressions"] : null)
        : [],
      name: "ARRAY_AGG",
    },
  };
  const inner = { select: { ...node?.body, expressions: [aggregate], order_by: null } } as unknown as Json;
  return {
    subquery: {
      this: inner,
      alias: null,
      column_aliases: [],
      alias_explicit_as: false,
      order_by: null,
      limit: null,
      offset: null,
      distribute_by: null,
      sort_by: null,
      cluster_by: null,
      lateral: false,
      modifiers_inside: false,
      trailing_comments: [],
      inferred_alias: false,
    },
  } as unknown as Json;
};

const joinedArray = (body: JsonObject): Json => {
  if (body["limit"] !== undefined && body["limit"] !== null)
    throw new UnsupportedSyntax("LIMIT inside STRING_AGG is not supported");
  const list = {
    array_agg: {
      this: body["this"] as Json,
      distinct: body["distinct"] ?? false,
      filter: body["filter"] ?? null,
      order_by: body["order_by"] ?? [],
      name: "ARRAY_AGG",
    },
  };
  return call("array_join", [list as unknown as Json, (body["separator"] as Json) ?? text(",")]);
};

const asDouble = (value: Json): Json => {
  const { ast } = parse("SELECT CAST(arg_1 AS DOUBLE) AS v", "trino" as never);
  const [alias] = listOf(nodeOf((ast as unknown as readonly Json[])[0])?.body["expressions"]);
  return substitute(nodeOf(alias)?.body["this"] as Json, [value]);
};

const literal = (body: JsonObject): Json | undefined => {
  const value = String(body["value"]);
  // A number with a decimal point is a FLOAT64 in GoogleSQL, but a DECIMAL in Trino.
  if (body["literal_type"] === "number" && /^\d*\.\d*$/.test(value))
    return { literal: { ...body, value: `${value.replace(/^\./, "0.").replace(/\.$/, ".0")}E0` } };
  return undefined;
};

/** Casts to TIMESTAMP always get a time zone, as in GoogleSQL, even if the translator chose a type without one. */
const expandCast = (kind: string, body: JsonObject): Json | undefined => {
  const type = isObject(body["to"]) ? String(body["to"]["data_type"]) : "";
  const literalText = literalOf(body["this"]);
  if (type === "timestamp" && isObject(body["to"]) && body["to"]["timezone"] !== true)
    return literalTimestamp(kind === "cast" ? "bq_timestamp" : "bq_safe_timestamp", [body["this"] as Json]);
  const special = type === "double" ? doubles[literalText?.toLowerCase() ?? ""] : undefined;
  return special === undefined ? undefined : { [kind]: { ...body, this: text(special) } };
};

/**
 * The spellings that Java accepts; they are case-sensitive:
 * https://docs.oracle.com/javase/8/docs/api/java/lang/Double.html#valueOf-java.lang.String-
 */
const doubles: Readonly<Record<string, string>> = {
  nan: "NaN",
  inf: "Infinity",
  "+inf": "Infinity",
  "-inf": "-Infinity",
  infinity: "Infinity",
  "+infinity": "Infinity",
  "-infinity": "-Infinity",
};

const isRowOf = (value: Json | undefined): boolean => {
  const node = nodeOf(value);
  return node?.kind === "function" && String(node.body["name"]).toLowerCase() === "row";
};

const expandNode = (kind: string, body: JsonObject): Json | undefined => {
  switch (kind) {
    case "function":
    case "aggregate_function":
      return expandCall(String(body["name"]), listOf(body["args"]));
    case "cast":
    case "try_cast":
    case "safe_cast":
      return expandCast(kind, body);
    case "string_agg":
      return joinedArray(body);
    case "div":
      return { div: { ...body, left: asDouble(body["left"] as Json) } };
    case "literal":
      return literal(body);
    case "left_func":
    case "right_func":
      return macro(kind.replace("_func", ""), [body["this"] as Json, (body["length"] ?? body["expression"]) as Json]);
    case "star":
      if (listOf(body["except"]).length > 0 || listOf(body["replace"]).length > 0)
        throw new UnsupportedSyntax("SELECT * EXCEPT and REPLACE are not supported here; name the columns");
      return undefined;
    default:
      return Object.hasOwn(trinoMacros, kind) ? macro(kind, argsOf(kind, body)) : undefined;
  }
};

/** Returns the arguments of a function that has its own node type in the parser. */
const argsOf = (kind: string, body: JsonObject): readonly Json[] => {
  const args = [body["this"], body["expression"] ?? body["separator"] ?? body["pattern"]];
  const given = args.filter((one) => one !== undefined && one !== null) as Json[];
  if (given.length === 0) throw new UnsupportedSyntax(`${kind.toUpperCase()} is not supported in this form`);
  return given;
};

export const expand = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(expand);
  if (!isObject(value)) return value;
  const cast = nodeOf(value);
  if (cast?.kind === "cast" && isRowOf(cast.body["this"])) {
    const row = nodeOf(cast.body["this"])?.body as JsonObject;
    return { cast: { ...cast.body, this: { function: { ...row, args: expand(row["args"] as Json) } } } };
  }
  const inner = Object.fromEntries(Object.entries(value).map(([key, one]) => [key, expand(one as Json)]));
  const node = nodeOf(inner);
  return (node === undefined ? undefined : expandNode(node.kind, node.body)) ?? inner;
};
