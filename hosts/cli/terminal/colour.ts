/** Colours where they are wanted. */
import { styleText } from "node:util";
import type { Io, Output } from "./io.ts";

type Style = Parameters<typeof styleText>[0];

/** A terminal on which the cursor can be moved. */
export const canDraw = ({ env }: Io, output: Output): boolean => output.isTTY === true && env["TERM"] !== "dumb";

/** Whether colours are shown: FORCE_COLOR goes first, as in Node, then https://no-color.org, then what the output is. */
export const wantsColour = (io: Io, output: Output): boolean => {
  const { FORCE_COLOR: forced, NO_COLOR: refused } = io.env;
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  return (refused ?? "") === "" && canDraw(io, output);
};

/** Text in colour where colours are shown. */
export const paint = (io: Io, style: Style, text: string, output: Output = io.stdout): string =>
  wantsColour(io, output) ? styleText(style, text, { validateStream: false }) : text;

/** What does not keep a command from its work, and should be looked at all the same. */
export const warn = (io: Io, text: string): void =>
  void io.stderr.write(`${paint(io, "yellow", "warning:", io.stderr)} ${text}\n`);
