/**
 * Converts a line of service output to a log entry. A JSON object becomes a structured entry, and any other line
 * becomes text.
 *
 * The severity is in the field `severity`, as on Cloud Run, or in the field `level`. Common loggers for Node and Python
 * write `level` as a word, and pino writes it as a number.
 */
import type { JsonPayload, LogName, NewLogEntry, Severity } from "./entry.ts";

/** Severities by the level names of loggers. A map, because plain objects also have keys such as `constructor`. */
export const severityByName: ReadonlyMap<string, Severity> = new Map<string, Severity>([
  ["default", "DEFAULT"],
  ["trace", "DEBUG"],
  ["debug", "DEBUG"],
  ["verbose", "DEBUG"],
  ["info", "INFO"],
  ["information", "INFO"],
  ["usage", "INFO"],
  ["notice", "NOTICE"],
  ["warn", "WARNING"],
  ["warning", "WARNING"],
  ["error", "ERROR"],
  ["err", "ERROR"],
  ["critical", "CRITICAL"],
  ["crit", "CRITICAL"],
  ["fatal", "CRITICAL"],
  ["alert", "ALERT"],
  ["emerg", "EMERGENCY"],
  ["emergency", "EMERGENCY"],
]);

/** pino's levels: https://getpino.io/#/docs/api?id=logger-level */
const ofPino = (level: number): Severity =>
  level >= 60 ? "CRITICAL" : level >= 50 ? "ERROR" : level >= 40 ? "WARNING" : level >= 30 ? "INFO" : "DEBUG";

/** Returns the severity that a structured line declares, or undefined without a known severity. */
export const severityOf = (payload: JsonPayload): Severity | undefined => {
  const declared = payload["severity"] ?? payload["level"];
  if (typeof declared === "number") return ofPino(declared);
  return typeof declared === "string" ? severityByName.get(declared.toLowerCase()) : undefined;
};

type ReadLine = Pick<NewLogEntry, "severity" | "text" | "json">;

/** Returns the severity of a line that declares no severity. A line on standard error may be part of a stack trace. */
const plainSeverity = (stream: LogName): Severity => (stream === "stderr" ? "ERROR" : "DEFAULT");

/** No real log record nests deeper. A deeper one could overflow the stack of code that writes or forwards it. */
const MAX_DEPTH = 100;

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)));

/** Keeps integers beyond 2^53 as text, as Cloud Logging does. */
const exactly = (_key: string, value: unknown, { source }: { readonly source?: string } = {}): unknown =>
  typeof value === "number" && !Number.isSafeInteger(value) && source !== undefined && /^-?\d+$/.test(source)
    ? source
    : value;

/** Parses the JSON object of a line. Returns undefined if it is malformed or too deep. */
const objectOf = (line: string): JsonPayload | undefined => {
  try {
    const json = JSON.parse(line) as JsonPayload;
    // Each level needs at least two characters, so short lines need no check.
    if (line.length > 2 * MAX_DEPTH && isDeeper(json, MAX_DEPTH)) return undefined;
    return /\d{16}/.test(line) ? (JSON.parse(line, exactly) as JsonPayload) : json;
  } catch {
    return undefined;
  }
};

/** Parses one line. The caller must remove the line break. */
export const readLine = (line: string, stream: "stdout" | "stderr"): ReadLine => {
  const bare = line.trim();
  const json = bare.startsWith("{") && bare.endsWith("}") ? objectOf(bare) : undefined;
  return json === undefined
    ? { severity: plainSeverity(stream), text: line }
    : { severity: severityOf(json) ?? plainSeverity(stream), json };
};
