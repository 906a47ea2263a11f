/**
 * Formats a log message. A plain line is unchanged; a structured entry becomes its message, followed by its other
 * fields.
 */
import { severityOf } from "../../../core/domain/logs/line.ts";
import { formatFields } from "./fields.ts";
import type { LogRow } from "./follow.ts";

type Fields = Readonly<Record<string, unknown>>;

interface HttpRequest {
  readonly requestMethod?: string;
  readonly requestUrl?: string;
  readonly status?: number;
  readonly latency?: string;
}

const requestText = ({ requestMethod = "", requestUrl = "", status = 0, latency = "" }: HttpRequest): string => {
  const path = requestUrl.replace(/^https?:\/\/[^/]+/, "") || "/";
  const millis = Math.round(Number.parseFloat(latency) * 1000);
  return `${requestMethod} ${path} → ${status} in ${Number.isNaN(millis) ? "?" : millis} ms`;
};

/** Names of the message field in most loggers, in pino, and in structlog. */
const messageNames = ["message", "msg", "event"];

const hasText = (value: unknown): boolean => value !== undefined && value !== null && value !== "";

/** Returns whether the value is a logger's timestamp. Any other `time` is a field of the service. */
const isTime = (value: unknown): boolean =>
  typeof value === "number" ? value > 1e9 : typeof value === "string" && /^\d{4}-\d\d-\d\d[T ]\d\d:/.test(value);

/** Returns true for fields that the line already shows elsewhere or that are noise. */
const isKnown = (row: LogRow, fields: Fields, name: string): boolean => {
  const value = fields[name];
  switch (name) {
    case "severity":
    case "level":
      return severityOf({ [name]: value }) === row.severity;
    case "time":
    case "timestamp":
      return isTime(value);
    case "pid":
    case "hostname":
      // pino adds both to every line.
      return typeof fields["pid"] === "number" && typeof fields["hostname"] === "string";
    case "event":
      return row.log_name === "platform";
    default:
      return false;
  }
};

const structuredText = (row: LogRow, fields: Fields): string => {
  const messageName = messageNames.find((name) => hasText(fields[name]));
  const message = messageName === undefined ? undefined : fields[messageName];
  const rest = Object.entries(fields).filter(([name]) => name !== messageName && !isKnown(row, fields, name));
  const { inline, below } = formatFields(rest);
  const head = message === undefined ? [] : [typeof message === "string" ? message : JSON.stringify(message)];
  return [[...head, ...inline].join(" "), ...below].filter((part) => part !== "").join("\n") || row.message;
};

export const logText = (row: LogRow): string => {
  if (!row.message.startsWith("{")) return row.message;
  let fields: Fields;
  try {
    fields = JSON.parse(row.message) as Fields;
  } catch {
    return row.message;
  }
  const { httpRequest } = fields;
  // A service may log an `httpRequest` too. Only the platform writes to the log `requests`.
  if (row.log_name === "requests" && typeof httpRequest === "object" && httpRequest !== null)
    return requestText(httpRequest);
  return structuredText(row, fields);
};
