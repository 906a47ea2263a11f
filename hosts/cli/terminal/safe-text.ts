import { paint, wantsColour } from "./colour.ts";
import { escapeControls, plainText, SGR } from "./control-characters.ts";
import { type Io, type Output, say } from "./io.ts";

const RESET = "\u001b[0m";

/** Escapes control characters. If colours are shown, keeps the text's own colours and resets them at its end. */
export const safeText = (io: Io, text: string, output: Output = io.stdout): string => {
  if (!wantsColour(io, output)) return plainText(text);
  const parts = text.split(SGR);
  if (parts.length === 1) return escapeControls(text);
  const colours = text.match(SGR) ?? [];
  return `${parts.map((part, n) => escapeControls(part) + (colours[n] ?? "")).join("")}${RESET}`;
};

/** Prints an error's message to standard error. */
export const sayError = (io: Io, message: string): void =>
  say(io, `${paint(io, "red", "error:", io.stderr)} ${safeText(io, message, io.stderr)}`);
