import { wantsColour } from "./colour.ts";
import { escapeControls, plainText, SGR } from "./control-characters.ts";
import type { Io, Output } from "./io.ts";

const RESET = "\u001b[0m";

/** Where colours are shown, those of the text stay, and end with it; every other control character is written out. */
export const safeText = (io: Io, text: string, output: Output = io.stdout): string => {
  if (!wantsColour(io, output)) return plainText(text);
  const parts = text.split(SGR);
  if (parts.length === 1) return escapeControls(text);
  const colours = text.match(SGR) ?? [];
  return `${parts.map((part, n) => escapeControls(part) + (colours[n] ?? "")).join("")}${RESET}`;
};
