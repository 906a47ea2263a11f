/**
 * A filter as SQL over the rows of a log file, as far as SQL has its meaning. Rows that the SQL leaves out cannot match;
 * of those that it lets through, unless it is `exact`, some may not.
 */

import { type LogName, type Severity, severities, severityNames } from "../../../core/domain/log-entry.ts";
import { durationOf, fold, numberOf, severityRank, timeOf } from "../../../core/domain/log-filter/literals.ts";
import { textTest } from "../../../core/domain/log-filter/match.ts";
import { RESOURCE_TYPE } from "../../../core/domain/log-filter/record.ts";
import type { LogFilter } from "../../../core/domain/log-filter/tree.ts";
import { compileRe2 } from "../../shared/re2.ts";
import { columnTime } from "./file.ts";

export interface Where {
  /** Never NULL. */
  readonly sql: string;
  readonly params: readonly (string | number | bigint)[];
  readonly exact: boolean;
}

type Compare = Extract<LogFilter, { kind: "compare" }>;

const anything: Where = { sql: "1", params: [], exact: false };
const always = (holds: boolean): Where => ({ sql: holds ? "1" : "0", params: [], exact: true });
const exactly = (sql: string, ...params: Where["params"]): Where => ({ sql, params, exact: true });
const roughly = (sql: string, ...params: Where["params"]): Where => ({ sql, params, exact: false });

const sqlOperator = { "=": "=", ":": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=" } as const;
type Ordering = keyof typeof sqlOperator;
const isOrdering = (op: string): op is Ordering => Object.hasOwn(sqlOperator, op);

const logNames: readonly LogName[] = ["stdout", "stderr", "requests", "platform"];

const oneOf = (column: string, values: readonly (string | number)[]): Where =>
  values.length === 0 ? always(false) : exactly(`${column} IN (${values.map(() => "?").join(", ")})`, ...values);

const severityIn = (names: readonly Severity[]): Where =>
  oneOf(
    "severity",
    names.map((name) => severities[name]),
  );

/** A text that stands in JSON as it is, and in which SQLite folds case as the filter does. */
const isPlain = (folded: string): boolean => folded !== "" && /^[ !#-[\]-~]+$/.test(folded);

/** The column has the text in it, or has letters that SQLite cannot fold. */
const mayContain = (column: string, folded: string): Where =>
  roughly(`ifnull(instr(upper(${column}), ?) > 0 OR octet_length(${column}) <> length(${column}), 0)`, folded);

const either = (...wheres: readonly Where[]): Where => ({
  sql: `(${wheres.map(({ sql }) => sql).join(" OR ")})`,
  params: wheres.flatMap(({ params }) => params),
  exact: wheres.every(({ exact }) => exact),
});

const both = (...wheres: readonly Where[]): Where => ({
  sql: wheres.length === 0 ? "1" : `(${wheres.map(({ sql }) => sql).join(" AND ")})`,
  params: wheres.flatMap(({ params }) => params),
  exact: wheres.every(({ exact }) => exact),
});

const ofTimestamp = ({ op, literal }: Compare): Where => {
  const time = timeOf(literal.text ?? "");
  return time !== undefined && isOrdering(op) ? exactly(`ns ${sqlOperator[op]} ?`, columnTime(time)) : anything;
};

const ofSeverity = ({ op, literal }: Compare): Where => {
  const text = literal.text ?? "";
  if (op === ":") return severityIn(severityNames.filter(textTest(op, text, compileRe2)));
  const rank = severityRank(text);
  return rank !== undefined && isOrdering(op) ? exactly(`severity ${sqlOperator[op]} ?`, rank) : anything;
};

const ofLogName = ({ op, literal }: Compare): Where =>
  literal.text === null ? anything : oneOf("log", logNames.filter(textTest(op, literal.text, compileRe2)));

/** A number of the served request; 0 where the entry is of none. */
const ofHttpNumber = ({ path, op, literal }: Compare): Where => {
  const number = numberOf(literal.text ?? "");
  if (number === undefined) return always(false);
  return isOrdering(op)
    ? exactly(`ifnull(json_extract(http, '$.${path[1]}'), 0) ${sqlOperator[op]} ?`, number)
    : anything;
};

const ofLatency = ({ op, literal }: Compare): Where => {
  const seconds = durationOf(literal.text ?? "");
  // The platform writes seconds with six digits; rounding may move a value by one in the last.
  if (seconds === undefined || (op !== ">" && op !== ">=") || seconds <= 0) return anything;
  return roughly("ifnull(CAST(json_extract(http, '$.latency') AS REAL), 0) >= ?", seconds * (1 - 1e-9) - 1e-9);
};

const ofText = ({ op, literal }: Compare): Where => {
  const folded = fold(literal.text ?? "");
  return (op === ":" || op === "=") && isPlain(folded) ? mayContain("text", folded) : anything;
};

/** Every name on the way stands in the payload's JSON, and so does the text that is looked for, unless it is a number. */
const ofPayload = (path: readonly string[], wanted: string | undefined): Where => {
  const names = path.slice(1).map((name) => roughly("ifnull(instr(json, ?) > 0, 0)", `${JSON.stringify(name)}:`));
  const folded = wanted === undefined ? "" : fold(wanted);
  const value = isPlain(folded) && numberOf(wanted ?? "") === undefined ? [mayContain("json", folded)] : [];
  return both(...names, ...value, roughly("json IS NOT NULL"));
};

const compared = (filter: Compare): Where => {
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

const existing = (path: readonly string[]): Where => {
  const [first] = path;
  const column = { textPayload: "text", jsonPayload: "json", httpRequest: "http" }[first ?? ""];
  if (column === undefined) return anything;
  if (path.length === 1) return exactly(`${column} IS NOT NULL`);
  return first === "jsonPayload" ? ofPayload(path, undefined) : roughly(`${column} IS NOT NULL`);
};

/** A text anywhere in the entry: in its columns, or in what every entry of the deployment has. */
const searched = (text: string, service: string): Where => {
  const folded = fold(text);
  const has = textTest(":", text, compileRe2);
  // Times and ids are made of these signs alone.
  const inTime = /^[-0-9T:.+]*$/.test(folded);
  if (!isPlain(folded) || inTime || has(service) || has(RESOURCE_TYPE)) return anything;
  return either(
    ...["text", "json", "http", "revision", "instance"].map((column) => mayContain(column, folded)),
    oneOf("log", logNames.filter(has)),
    severityIn(severityNames.filter(has)),
  );
};

/** @param service the deployment whose rows are searched */
export const whereOf = (filter: LogFilter, service: string): Where => {
  switch (filter.kind) {
    case "and":
      return both(...filter.terms.map((term) => whereOf(term, service)));
    case "or":
      return either(...filter.terms.map((term) => whereOf(term, service)));
    case "not": {
      const { sql, params, exact } = whereOf(filter.term, service);
      return exact ? exactly(`NOT ${sql}`, ...params) : anything;
    }
    case "compare":
      return compared(filter);
    case "exists":
      return existing(filter.path);
    case "search":
      return searched(filter.text, service);
    case "log_id":
      return exactly("log = ?", filter.id);
  }
};
