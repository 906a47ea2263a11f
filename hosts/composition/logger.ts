/** The Logger port on top of pino. Callers must not pass secrets to it. */
import { type Logger as Pino, pino } from "pino";
import type { Logger } from "../../core/ports/system.ts";
import { formatLogLine } from "./log-line.ts";

export const logLevels = ["silent", "error", "warn", "info", "debug"] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * Logs to standard error: readable lines on a terminal, otherwise JSON. Standard output is reserved for the command's
 * result.
 */
export const createPino = (level: LogLevel): Pino =>
  pino(
    {
      level,
      base: null,
      redact: {
        paths: ["*.authorization", "*.cookie", '*["x-api-key"]', "*.key", "*.token", "*.env", "*.value"],
        censor: "[redacted]",
      },
      serializers: { cause: pino.stdSerializers.err },
    },
    process.stderr.isTTY
      ? { write: (line) => void process.stderr.write(formatLogLine(line, process.stderr.hasColors())) }
      : pino.destination({ fd: 2, sync: true }),
  );

/** Wraps a pino instance as a `Logger`, for example for `PlatformOverrides.logger`: `loggerOf(pino())`. */
export const loggerOf = (log: Pino): Logger => ({
  debug: (message, fields = {}) => log.debug(fields, message),
  info: (message, fields = {}) => log.info(fields, message),
  warn: (message, fields = {}) => log.warn(fields, message),
  error: (message, fields = {}) => log.error(fields, message),
});
