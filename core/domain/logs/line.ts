/**
 * How a line that a service prints becomes a log entry: a JSON object is structured, anything else is text.
 *
 * Severity is read as Cloud Run reads it (`severity`), and from what the usual loggers of Node and
 * Python write (`level`, as a word or as pino's number).
 */
import type { JsonPayload, LogName, Severity } from "./entry.ts";

/** What loggers call severities. A map, because a line may say `constructor`, which every object has. */
export const severityWords: ReadonlyMap<string, Severity> = new Map<string, Severity>([
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

/** The severity that a structured line gives itself; undefined where its words are none that are known. */
export const severityOf = (payload: JsonPayload): Severity | undefined => {
  const said = payload["severity"] ?? payload["level"];
  if (typeof said === "number") return ofPino(said);
  return typeof said === "string" ? severityWords.get(said.toLowerCase()) : undefined;
};

export interface ReadLine {
  readonly severity: Severity;
  readonly text?: string;
  readonly json?: JsonPayload;
}

/** Lines of standard error without a severity of their own are errors; so are a crash's last words. */
const plainSeverity = (stream: LogName): Severity => (stream === "stderr" ? "ERROR" : "DEFAULT");

/** What nests deeper is nobody's record, and whoever writes or sends it on would run out of stack. */
const MOST_LEVELS = 100;

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)));

/** An integer that a number cannot hold stays the text that it is, as Cloud Logging keeps long integers. */
const exactly = (_key: string, value: unknown, { source }: { readonly source?: string } = {}): unknown =>
  typeof value === "number" && !Number.isSafeInteger(value) && source !== undefined && /^-?\d+$/.test(source)
    ? source
    : value;

/** The JSON object of a line; undefined where it is none, or nests too deep. */
const objectOf = (line: string): JsonPayload | undefined => {
  try {
    const json = JSON.parse(line) as JsonPayload;
    // Each level takes two letters at least: most lines need no look.
    if (line.length > 2 * MOST_LEVELS && isDeeper(json, MOST_LEVELS)) return undefined;
    return /\d{16}/.test(line) ? (JSON.parse(line, exactly) as JsonPayload) : json;
  } catch {
    return undefined;
  }
};

/** Reads one line without its line end. */
export const readLine = (line: string, stream: "stdout" | "stderr"): ReadLine => {
  const bare = line.trim();
  const json = bare.startsWith("{") && bare.endsWith("}") ? objectOf(bare) : undefined;
  return json === undefined
    ? { severity: plainSeverity(stream), text: line }
    : { severity: severityOf(json) ?? plainSeverity(stream), json };
};
