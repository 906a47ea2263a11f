/** The server log's human-readable format: `12:03:04 WARN  a clock was set back  name=hello`. */
import { styleText } from "node:util";
import { withoutControls } from "../../core/domain/deploy/build-output.ts";

/** pino's levels: https://getpino.io/#/docs/api?id=logger-level */
const levels: Readonly<Record<number, readonly [name: string, style: Parameters<typeof styleText>[0]]>> = {
  20: ["DEBUG", "dim"],
  30: ["INFO", "green"],
  40: ["WARN", "yellow"],
  50: ["ERROR", "red"],
};

const formatField = ([name, value]: [string, unknown]): string =>
  `${name}=${typeof value === "string" && /^[^\s"]+$/.test(value) ? value : JSON.stringify(value)}`;

/** @param line JSON from pino */
export const formatLogLine = (line: string, coloured: boolean): string => {
  const { level, time, msg = "", cause, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const [name, style] = levels[Number(level)] ?? ["FATAL", "red"];
  const clock = new Date(Number(time)).toTimeString().slice(0, 8);
  const details = Object.entries(fields).map(formatField);
  // An error as serialized by pino.
  const { stack, message } = (cause ?? {}) as Partial<Error>;
  const why = cause === undefined ? [] : [stack ?? message ?? JSON.stringify(cause)];
  const text = [[msg, ...details].join("  "), ...why].join("\n").replaceAll("\n", "\n  ");
  const head = name.padEnd(5);
  return `${clock} ${coloured ? styleText(style, head, { validateStream: false }) : head} ${withoutControls(text)}\n`;
};
