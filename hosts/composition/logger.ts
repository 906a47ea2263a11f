/** pino behind the core's Logger port. Nothing that could be a secret is handed to it. */
import { type Logger as Pino, pino } from "pino";
import type { Logger } from "../../core/ports/system.ts";
import { formatLogLine } from "./log-line.ts";

export const logLevels = ["silent", "error", "warn", "info", "debug"] as const;
export type LogLevel = (typeof logLevels)[number];

/** Logs go to standard error: standard output belongs to the command. Lines for people on a terminal, else JSON. */
export const createPino = (level: LogLevel): Pino =>
  pino(
    {
      level,
      base: null,
      redact: {
        paths: ["*.authorization", "*.cookie", '*["x-api-key"]', "*.key", "*.token", "*.env"],
        censor: "[redacted]",
      },
      serializers: { cause: pino.stdSerializers.err },
    },
    process.stderr.isTTY
      ? { write: (line) => void process.stderr.write(formatLogLine(line, process.stderr.hasColors())) }
      : pino.destination({ fd: 2, sync: true }),
  );

export const loggerOf = (log: Pino): Logger => ({
  debug: (message, fields = {}) => log.debug(fields, message),
  info: (message, fields = {}) => log.info(fields, message),
  warn: (message, fields = {}) => log.warn(fields, message),
  error: (message, fields = {}) => log.error(fields, message),
});
