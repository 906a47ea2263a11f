/** The fields of an entry that a filter may name, and the comparisons that each field allows. */
import { closest } from "../../wire/closest.ts";
import { severityNames } from "../entry.ts";
import { nanosOf, numberOf, severityRank, timeOf, truthOf } from "./literals.ts";
import { printPath } from "./print.ts";
import type { Comparison, FieldPath, Literal } from "./tree.ts";

/**
 * - `text`, `number`, `truth`, `duration`: a field of the entry itself. A missing field counts as empty, 0 or false.
 * - `any`: a value inside a payload or labels. Its type decides the comparison. A missing value matches nothing.
 * - `object`: contains other fields. Supports search (`:`) and existence (`:*`).
 */
export type FieldType = "timestamp" | "severity" | "text" | "number" | "truth" | "duration" | "any" | "object";

/** An `open` field may contain any names. */
type Fields = { readonly [name: string]: FieldType | "open" | Fields };

/** https://docs.cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry */
const fields: Fields = {
  timestamp: "timestamp",
  severity: "severity",
  logName: "text",
  insertId: "text",
  textPayload: "text",
  jsonPayload: "open",
  resource: { type: "text", labels: "open" },
  labels: "open",
  trace: "text",
  httpRequest: {
    requestMethod: "text",
    requestUrl: "text",
    requestSize: "number",
    status: "number",
    responseSize: "number",
    userAgent: "text",
    remoteIp: "text",
    serverIp: "text",
    referer: "text",
    latency: "duration",
    cacheLookup: "truth",
    cacheHit: "truth",
    cacheValidatedWithOriginServer: "truth",
    cacheFillBytes: "number",
    protocol: "text",
  },
};

/** Returns the type of a field, or undefined if entries have no such field. */
export const typeOf = (path: FieldPath): FieldType | undefined => {
  let at: Fields[string] | undefined = fields;
  for (const part of path) {
    // Resolve part by part, because a quoted name that contains a dot is not a path.
    if (at === "open") return "any";
    if (at === undefined || typeof at === "string") return undefined;
    at = Object.hasOwn(at, part) ? at[part] : undefined;
  }
  return at === "open" || typeof at === "object" ? "object" : at;
};

const namesOf = (inner: Fields, prefix = ""): string[] =>
  Object.entries(inner).flatMap(([name, one]) => [
    prefix + name,
    ...(typeof one === "object" ? namesOf(one, `${prefix}${name}.`) : []),
  ]);

const names = namesOf(fields);

/** Returns the message for an unknown field, with a suggestion. */
export const unknownField = (path: FieldPath): string => {
  const name = path.join(".");
  const last = path.at(-1) as string;
  const meant = names.find((one) => one.endsWith(`.${name}`)) ?? closest(name, names);
  const hint = meant === undefined ? "" : ` Did you mean '${meant}'?`;
  return `unknown field '${printPath(path)}'.${hint} For a field of your JSON lines, use 'jsonPayload.${printPath([last])}'.`;
};

const ordered: readonly Comparison[] = ["=", "!=", "<", "<=", ">", ">=", ":"];

/** Returns why a known field does not support a comparison, or undefined if it does. */
export const comparisonProblem = (path: FieldPath, op: Comparison, literal: Literal): string | undefined => {
  const name = printPath(path);
  const type = typeOf(path);
  if (type === "object" && op !== ":")
    return `'${name}' contains other fields; name one of them, or use ':' to search in it`;
  if (type === "any" || type === "text" || type === "object") return undefined;
  if (!ordered.includes(op)) return `'${op}' compares strings, but '${name}' is not a string`;
  const { text } = literal;
  if (text === null) return `'${name}' always has a value and cannot be compared with NULL_VALUE`;
  if (type === "timestamp" && timeOf(text) === undefined)
    return 'must be an RFC 3339 date-time with an offset, such as "2026-01-31T09:00:00Z", or a date';
  if (type === "severity" && op !== ":" && severityRank(text) === undefined)
    return `must be a severity: ${severityNames.join(", ")}`;
  if (type === "duration" && nanosOf(text) === undefined) return 'must be a duration, such as "1.5s" or "200ms"';
  if (type === "number" && numberOf(text) === undefined) return "must be a number, such as 500";
  if (type === "truth" && truthOf(text) === undefined) return "must be true or false";
  return undefined;
};
