/** Colours and warnings in the output. */
import { styleText } from "node:util";
import type { Io, Output } from "./io.ts";

type Style = Parameters<typeof styleText>[0];

/** Returns whether the output is a terminal that can move its cursor. */
export const canDraw = ({ env }: Io, output: Output): boolean => output.isTTY === true && env["TERM"] !== "dumb";

/** Returns whether to show colours. Precedence: FORCE_COLOR as in Node, https://no-color.org, the output's type. */
export const wantsColour = (io: Io, output: Output): boolean => {
  const { FORCE_COLOR: forced, NO_COLOR: refused } = io.env;
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  return (refused ?? "") === "" && canDraw(io, output);
};

/** Colours the text if colours are shown. */
export const paint = (io: Io, style: Style, text: string, output: Output = io.stdout): string =>
  wantsColour(io, output) ? styleText(style, text, { validateStream: false }) : text;

/** Prints a warning about a problem that does not stop the command. */
export const warn = (io: Io, text: string): void =>
  void io.stderr.write(`${paint(io, "yellow", "warning:", io.stderr)} ${text}\n`);
