/** Log entries on a terminal, in a pipe, and as JSON. */

import { type Io, paint, print } from "./io.ts";
import type { LogRow } from "./log-follow.ts";
import { logText } from "./log-text.ts";

const colours: Partial<Record<LogRow["severity"], Parameters<typeof paint>[1]>> = {
  DEBUG: "dim",
  NOTICE: "cyan",
  WARNING: "yellow",
  ERROR: "red",
  CRITICAL: "red",
  ALERT: "red",
  EMERGENCY: "red",
};

export const printRow = (io: Io, row: LogRow): void => {
  const time = paint(io.stdout, "dim", row.timestamp.slice(0, 23).replace("T", " "));
  const colour = colours[row.severity];
  const text = logText(row.message);
  print(io, `${time} ${row.severity.padEnd(8)} ${colour === undefined ? text : paint(io.stdout, colour, text)}`);
};
