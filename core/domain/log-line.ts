/**
 * How a line that a service prints becomes a log entry: a JSON object is structured, anything else is text.
 *
 * Severity is read as Cloud Run reads it (`severity`), and from what the usual loggers of Node and
 * Python write (`level`, as a word or as pino's number).
 */
import type { JsonPayload, LogName, Severity } from "./log-entry.ts";

const words: Readonly<Record<string, Severity>> = {
  default: "DEFAULT",
  trace: "DEBUG",
  debug: "DEBUG",
  verbose: "DEBUG",
  info: "INFO",
  information: "INFO",
  usage: "INFO",
  notice: "NOTICE",
  warn: "WARNING",
  warning: "WARNING",
  error: "ERROR",
  err: "ERROR",
  critical: "CRITICAL",
  crit: "CRITICAL",
  fatal: "CRITICAL",
  alert: "ALERT",
  emerg: "EMERGENCY",
  emergency: "EMERGENCY",
};

/** pino's levels: https://getpino.io/#/docs/api?id=logger-level */
const ofPino = (level: number): Severity =>
  level >= 60 ? "CRITICAL" : level >= 50 ? "ERROR" : level >= 40 ? "WARNING" : level >= 30 ? "INFO" : "DEBUG";

const severityOf = (payload: JsonPayload): Severity => {
  const said = payload["severity"] ?? payload["level"];
  if (typeof said === "number") return ofPino(said);
  const word = typeof said === "string" ? words[said.toLowerCase()] : undefined;
  return word ?? "DEFAULT";
};

export interface ReadLine {
  readonly severity: Severity;
  readonly text?: string;
  readonly json?: JsonPayload;
}

/** Lines of standard error without a severity of their own are errors; so are a crash's last words. */
const plainSeverity = (stream: LogName): Severity => (stream === "stderr" ? "ERROR" : "DEFAULT");

/** Reads one line without its line end. */
export const readLine = (line: string, stream: "stdout" | "stderr"): ReadLine => {
  if (line.startsWith("{") && line.endsWith("}")) {
    try {
      const json = JSON.parse(line) as JsonPayload;
      const severity = severityOf(json);
      return { severity: severity === "DEFAULT" ? plainSeverity(stream) : severity, json };
    } catch {
      // Not JSON after all: a line like any other.
    }
  }
  return { severity: plainSeverity(stream), text: line };
};
