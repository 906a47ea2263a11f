/**
 * Text that others wrote, on its way to the user's eyes: what a service logs must not move the cursor, set the title,
 * write the clipboard or turn the reading direction (docs/decisions/0013).
 */
import { wantsColour } from "./colour.ts";
import type { Io, Output } from "./io.ts";

/** Select Graphic Rendition: colours and weights, which stay in the text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject
const SGR = /\u001b\[[0-9;:]*m/g;
const RESET = "\u001b[0m";

/** C0 but tab and newline, DEL, C1, and what turns the direction of text: https://www.unicode.org/reports/tr9/ */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

const escapes: Readonly<Record<string, string>> = { "\r": "\\r", "\b": "\\b" };

const escaped = (control: string): string => {
  const code = control.charCodeAt(0).toString(16);
  return escapes[control] ?? (code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`);
};

/** Without colours, and every other control character written out, as `\x1b`. */
export const plainText = (text: string): string => text.replace(SGR, "").replace(CONTROLS, escaped);

/** Where colours are shown, those of the text stay, and end with it; every other control character is written out. */
export const safeText = (io: Io, text: string, output: Output = io.stdout): string => {
  if (!wantsColour(io, output)) return plainText(text);
  const parts = text.split(SGR);
  if (parts.length === 1) return text.replace(CONTROLS, escaped);
  const colours = text.match(SGR) ?? [];
  return `${parts.map((part, n) => part.replace(CONTROLS, escaped) + (colours[n] ?? "")).join("")}${RESET}`;
};

/** Further lines stand further right, so that none of them looks like an entry of its own. */
export const indentLines = (text: string, indent = "    "): string => text.replaceAll("\n", `\n${indent}`);

/** JSON in which no character acts on a terminal; JSON.stringify writes out C0 alone. */
export const safeJson = (value: unknown): string =>
  JSON.stringify(value).replace(CONTROLS, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`);
