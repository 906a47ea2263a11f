/**
 * How a line that a service prints becomes a log entry: a JSON object is structured, anything else is text.
 *
 * Severity is read as Cloud Run reads it (`severity`), and from what the usual loggers of Node and
 * Python write (`level`, as a word or as pino's number).
 */
import type { JsonPayload, LogName, Severity } from "./log-entry.ts";

/** A map, because a line may say `constructor`, which every object has. */
const words: ReadonlyMap<string, Severity> = new Map<string, Severity>([
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
  return typeof said === "string" ? words.get(said.toLowerCase()) : undefined;
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
      return { severity: severityOf(json) ?? plainSeverity(stream), json };
    } catch {
      // Not JSON after all: a line like any other.
    }
  }
  return { severity: plainSeverity(stream), text: line };
};
