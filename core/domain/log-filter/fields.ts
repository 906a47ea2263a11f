/** The fields of an entry that a filter can name, and how each may be compared. */
import { closest } from "../closest.ts";
import { severityNames } from "../log-entry.ts";
import { durationOf, severityRank, timeOf } from "./literals.ts";
import type { Comparison, FieldPath, Literal } from "./tree.ts";

/**
 * - `text`, `number`, `truth`, `duration`: a field of the entry's own; where an entry has none it is empty, 0 or false
 * - `any`: a value inside a payload or labels; its own type decides, and where there is none nothing matches
 * - `object`: holds others; can be searched, and asked for
 */
export type FieldType = "timestamp" | "severity" | "text" | "number" | "truth" | "duration" | "any" | "object";

/** https://docs.cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry */
const fields: Readonly<Record<string, FieldType>> = {
  timestamp: "timestamp",
  severity: "severity",
  logName: "text",
  insertId: "text",
  textPayload: "text",
  jsonPayload: "object",
  resource: "object",
  "resource.type": "text",
  "resource.labels": "object",
  labels: "object",
  trace: "text",
  httpRequest: "object",
  "httpRequest.requestMethod": "text",
  "httpRequest.requestUrl": "text",
  "httpRequest.requestSize": "number",
  "httpRequest.status": "number",
  "httpRequest.responseSize": "number",
  "httpRequest.userAgent": "text",
  "httpRequest.remoteIp": "text",
  "httpRequest.serverIp": "text",
  "httpRequest.referer": "text",
  "httpRequest.latency": "duration",
  "httpRequest.cacheLookup": "truth",
  "httpRequest.cacheHit": "truth",
  "httpRequest.cacheValidatedWithOriginServer": "truth",
  "httpRequest.cacheFillBytes": "number",
  "httpRequest.protocol": "text",
};

/** Under these anything may be named. */
const open = ["jsonPayload", "labels", "resource.labels"];

/** How a field may be compared; undefined for one that entries do not have. */
export const typeOf = (path: FieldPath): FieldType | undefined => {
  const name = path.join(".");
  if (Object.hasOwn(fields, name)) return fields[name];
  return open.some((prefix) => name.startsWith(`${prefix}.`)) ? "any" : undefined;
};

/** Why entries have no such field, and which was meant. */
export const unknownField = (path: FieldPath): string => {
  const name = path.join(".");
  const last = path.at(-1) as string;
  const names = Object.keys(fields);
  const meant = names.find((one) => one.endsWith(`.${name}`)) ?? closest(name, names);
  const hint = meant === undefined ? "" : ` Did you mean '${meant}'?`;
  return `entries have no field '${name}'.${hint} A field of your own JSON lines is 'jsonPayload.${last}'.`;
};

const ordered: readonly Comparison[] = ["=", "!=", "<", "<=", ">", ">=", ":"];

/** Why a field cannot be compared like that; undefined where it can. */
export const comparisonProblem = (path: FieldPath, op: Comparison, literal: Literal): string | undefined => {
  const name = path.join(".");
  const type = typeOf(path);
  if (type === undefined) return unknownField(path);
  if (type === "object" && op !== ":")
    return `'${name}' holds other fields; name one of them, or use ':' to search in it`;
  if (type === "any" || type === "text" || type === "object") return undefined;
  if (!ordered.includes(op)) return `'${op}' compares texts, and '${name}' is none`;
  const { text } = literal;
  if (text === null) return `'${name}' always has a value, so NULL_VALUE cannot be meant`;
  if (type === "timestamp" && timeOf(text) === undefined)
    return 'must be an RFC 3339 date-time with an offset, such as "2026-01-31T09:00:00Z", or a date';
  if (type === "severity" && op !== ":" && severityRank(text) === undefined)
    return `must be a severity: ${severityNames.join(", ")}`;
  if (type === "duration" && durationOf(text) === undefined) return 'must be a duration, such as "1.5s" or "200ms"';
  return undefined;
};
