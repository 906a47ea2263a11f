/**
 * Translates a filter to SQL over the rows of a log file, as far as SQL can express the filter. A row that the SQL
 * excludes never matches the filter. A row that the SQL selects always matches if the clause is `exact`. Otherwise a
 * predicate in JavaScript must check the row.
 */

import { type LogName, type Severity, severities, severityNames } from "../../../core/domain/logs/entry.ts";
import { fold } from "../../../core/domain/logs/filter/fold.ts";
import { nanosOf, numberOf, severityRank, timeOf } from "../../../core/domain/logs/filter/literals.ts";
import { textTest } from "../../../core/domain/logs/filter/match.ts";
import { RESOURCE_TYPE } from "../../../core/domain/logs/filter/record.ts";
import { conjuncts, type LogFilter } from "../../../core/domain/logs/filter/tree.ts";
import { compileRe2 } from "../../shared/logs/re2.ts";
import { columnTime } from "./rows.ts";

export interface WhereClause {
  /** A condition that is never NULL. */
  readonly sql: string;
  readonly params: readonly (string | number | bigint)[];
  readonly exact: boolean;
}

type Compare = Extract<LogFilter, { kind: "compare" }>;

const anything: WhereClause = { sql: "1", params: [], exact: false };
const always = (holds: boolean): WhereClause => ({ sql: holds ? "1" : "0", params: [], exact: true });
const exactly = (sql: string, ...params: WhereClause["params"]): WhereClause => ({ sql, params, exact: true });
const roughly = (sql: string, ...params: WhereClause["params"]): WhereClause => ({ sql, params, exact: false });

const sqlOperator = { "=": "=", ":": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=" } as const;

const logNames: readonly LogName[] = ["stdout", "stderr", "requests", "platform"];

const oneOf = (column: string, values: readonly (string | number)[]): WhereClause =>
  values.length === 0 ? always(false) : exactly(`${column} IN (${values.map(() => "?").join(", ")})`, ...values);

const severityIn = (names: readonly Severity[]): WhereClause =>
  oneOf(
    "severity",
    names.map((name) => severities[name]),
  );

/** True for text that JSON does not escape and that SQLite case-folds in the same way as the filter. */
const isPlain = (folded: string): boolean => folded !== "" && /^[ !#-[\]-~]+$/.test(folded);

/**
 * Selects rows with long text without searching the text. The predicate searches the text instead, because it can stop
 * at the deadline and SQL cannot. This must be the first term, because SQLite evaluates it without reading the text.
 */
const isLong = (column: string): string => `octet_length(${column}) > 16384`;

/** Selects rows in which the column contains the text, is long, or contains characters that SQLite cannot fold. */
const mayContain = (column: string, folded: string): WhereClause =>
  roughly(
    `ifnull(${isLong(column)} OR instr(upper(${column}), ?) > 0 OR octet_length(${column}) <> length(${column}), 0)`,
    folded,
  );

/** Combines terms in a balanced tree, because SQLite rejects trees deeper than 1000. */
const balanced = (terms: readonly string[], word: "AND" | "OR"): string => {
  if (terms.length === 1) return terms[0] as string;
  const middle = terms.length >> 1;
  return `(${balanced(terms.slice(0, middle), word)} ${word} ${balanced(terms.slice(middle), word)})`;
};

const sqlOf = (wheres: readonly WhereClause[]): string[] => wheres.map(({ sql }) => sql);

const either = (...wheres: readonly WhereClause[]): WhereClause =>
  // A term that excludes nothing makes the others irrelevant.
  wheres.some(({ sql, exact }) => sql === "1" && !exact)
    ? anything
    : {
        sql: wheres.length === 0 ? "0" : balanced(sqlOf(wheres), "OR"),
        params: wheres.flatMap(({ params }) => params),
        exact: wheres.every(({ exact }) => exact),
      };

const both = (...wheres: readonly WhereClause[]): WhereClause => {
  const telling = wheres.filter(({ sql }) => sql !== "1");
  return {
    sql: telling.length === 0 ? "1" : balanced(sqlOf(telling), "AND"),
    params: telling.flatMap(({ params }) => params),
    exact: wheres.every(({ exact }) => exact),
  };
};

/** Compares a value in SQL. Selects every row if SQL lacks the operator. */
const ordered = (op: Compare["op"], sql: string, value: number | bigint | undefined): WhereClause => {
  if (value === undefined || !Object.hasOwn(sqlOperator, op)) return anything;
  const param = typeof value === "bigint" ? columnTime(value) : value;
  return exactly(`${sql} ${sqlOperator[op as keyof typeof sqlOperator]} ?`, param);
};

/**
 * The plus keeps SQLite from using the index for this term. SQLite must use the index to seek to the row after which
 * the search continues.
 */
const ofTimestamp = ({ op, literal }: Compare): WhereClause => ordered(op, "+ns", timeOf(literal.text ?? ""));

const ofSeverity = ({ op, literal }: Compare): WhereClause => {
  const text = literal.text ?? "";
  if (op === ":") return severityIn(severityNames.filter(textTest(op, text, compileRe2)));
  return ordered(op, "severity", severityRank(text));
};

const ofLogName = ({ op, literal }: Compare): WhereClause =>
  literal.text === null ? anything : oneOf("log", logNames.filter(textTest(op, literal.text, compileRe2)));

/** Compares a numeric field of the logged request. The field is 0 if the entry has no request. */
const ofHttpNumber = ({ path, op, literal }: Compare): WhereClause => {
  const number = numberOf(literal.text ?? "");
  if (number === undefined) return always(false);
  // SQLite has no NaN and treats it as NULL.
  if (Number.isNaN(number)) return always(op === "!=");
  return ordered(op, `ifnull(json_extract(http, '$.${path[1]}'), 0)`, number);
};

/** The name of a SQL function, registered on the search connection, that returns a duration in nanoseconds. */
export const NANOS_OF = "nanos_of";

const ofLatency = ({ op, literal }: Compare): WhereClause => {
  const latency = `CASE WHEN http IS NULL THEN 0 ELSE ${NANOS_OF}(json_extract(http, '$.latency')) END`;
  return ordered(op, latency, nanosOf(literal.text ?? ""));
};

const ofText = ({ op, literal }: Compare): WhereClause => {
  const folded = fold(literal.text ?? "");
  return (op === ":" || op === "=") && isPlain(folded) ? mayContain("text", folded) : anything;
};

/**
 * Selects rows whose JSON contains every name on the path. If `wanted` is not a number, the JSON must also contain
 * `wanted`.
 */
const ofPayload = (path: readonly string[], wanted: string | undefined): WhereClause => {
  const names = [...new Set(path.slice(1))].map((name) =>
    roughly(`ifnull(${isLong("json")} OR instr(json, ?) > 0, 0)`, `${JSON.stringify(name)}:`),
  );
  const folded = wanted === undefined ? "" : fold(wanted);
  const value = isPlain(folded) && numberOf(wanted ?? "") === undefined ? [mayContain("json", folded)] : [];
  return both(...names, ...value, roughly("json IS NOT NULL"));
};

const compared = (filter: Compare): WhereClause => {
  const { path, op, literal } = filter;
  const [first, second] = path;
  switch (first) {
    case "timestamp":
      return ofTimestamp(filter);
    case "severity":
      return ofSeverity(filter);
    case "logName":
      return ofLogName(filter);
    case "textPayload":
      return ofText(filter);
    case "jsonPayload":
      return ofPayload(path, (op === "=" || op === ":") && literal.text !== null ? literal.text : undefined);
    case "httpRequest":
      if (second === "latency") return ofLatency(filter);
      return second === "status" || second === "responseSize" || second === "requestSize"
        ? ofHttpNumber(filter)
        : anything;
    default:
      return anything;
  }
};

const existing = (path: readonly string[]): WhereClause => {
  const [first] = path;
  const column = { textPayload: "text", jsonPayload: "json", httpRequest: "http" }[first ?? ""];
  if (column === undefined) return anything;
  if (path.length === 1) return exactly(`${column} IS NOT NULL`);
  return first === "jsonPayload" ? ofPayload(path, undefined) : roughly(`${column} IS NOT NULL`);
};

/** Searches for text anywhere in the entry: in its columns, or in the text that all entries of the deployment share. */
const searched = (text: string, service: string): WhereClause => {
  const folded = fold(text);
  const has = textTest(":", text, compileRe2);
  // Times and ids consist of these characters only.
  const inTime = /^[-0-9T:.+]*$/.test(folded);
  if (!isPlain(folded) || inTime || has(service) || has(RESOURCE_TYPE)) return anything;
  return either(
    ...["text", "json", "http", "revision", "instance"].map((column) => mayContain(column, folded)),
    oneOf("log", logNames.filter(has)),
    severityIn(severityNames.filter(has)),
  );
};

const termOf = (filter: LogFilter, service: string): WhereClause => {
  switch (filter.kind) {
    case "and":
      return both(...filter.terms.map((term) => termOf(term, service)));
    case "or":
      return either(...filter.terms.map((term) => termOf(term, service)));
    case "not": {
      const { sql, params, exact } = termOf(filter.term, service);
      return exact ? exactly(`NOT ${sql}`, ...params) : anything;
    }
    case "compare":
      return compared(filter);
    case "exists":
      return existing(filter.path);
    case "search":
      return searched(filter.text, service);
    case "log_id":
      return oneOf("log", logNames.filter(textTest("=", filter.id, compileRe2)));
  }
};

/** The maximum length of the SQL, in characters. A longer clause costs more than it saves. */
const MAX_SQL = 10_000;

/**
 * Translates the terms that every match must satisfy, up to `MAX_SQL` characters. The predicate checks the other terms.
 * @param service the deployment to search
 */
export const whereClause = (filter: LogFilter, service: string): WhereClause => {
  let room = MAX_SQL;
  const terms = conjuncts(filter).map((term) => {
    const where = termOf(term, service);
    if (where.sql.length > room) return anything;
    room -= where.sql.length;
    return where;
  });
  return both(...terms);
};
