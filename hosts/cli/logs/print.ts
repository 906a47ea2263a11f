/** Prints log entries on a terminal or in a pipe. */

import { paint } from "../terminal/colour.ts";
import { indentLines } from "../terminal/control-characters.ts";
import { type Io, print } from "../terminal/io.ts";
import { safeText } from "../terminal/safe-text.ts";
import type { LogRow } from "./follow.ts";
import { logText } from "./text.ts";

const colours: Partial<Record<LogRow["severity"], Parameters<typeof paint>[1]>> = {
  DEBUG: "dim",
  NOTICE: "cyan",
  WARNING: "yellow",
  ERROR: "red",
  CRITICAL: "red",
  ALERT: "red",
  EMERGENCY: "red",
};

const SEVERITY_WIDTH = "EMERGENCY".length;
const SOURCE_WIDTH = "platform".length;

/** Formats a timestamp with milliseconds and a time zone. Users can pass it to -s in quotes. */
export const timeText = (timestamp: string): string => {
  const fraction = /\.(\d+)/.exec(timestamp)?.[1] ?? "";
  return `${timestamp.slice(0, 19).replace("T", " ")}.${fraction.slice(0, 3).padEnd(3, "0")}Z`;
};

/** Prints an entry. The third column names its log, so a service cannot imitate entries of the platform. */
export const printRow = (io: Io, row: LogRow): void => {
  const time = paint(io, "dim", timeText(row.timestamp));
  const source = paint(io, "dim", row.log_name.padEnd(SOURCE_WIDTH));
  const colour = colours[row.severity];
  const whole = row.entry === undefined ? "" : `\n${JSON.stringify(row.entry, null, 2)}`;
  const text = indentLines(safeText(io, logText(row) + whole));
  const shown = colour === undefined ? text : paint(io, colour, text);
  print(io, `${time} ${row.severity.padEnd(SEVERITY_WIDTH)} ${source} ${shown}`);
};
