/**
 * Text that others wrote, on its way to the user's eyes: what a service logs must not move the cursor, set the title,
 * write the clipboard or turn the reading direction (docs/decisions/0013).
 */

/** Select Graphic Rendition: colours and weights, which stay in the text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject
export const SGR = /\u001b\[[0-9;:]*m/g;
/** C0 but tab and newline, DEL, C1, and what turns the direction of text: https://www.unicode.org/reports/tr9/ */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

const escapes: Readonly<Record<string, string>> = { "\r": "\\r", "\b": "\\b" };

const escapeOne = (control: string): string => {
  const code = control.charCodeAt(0).toString(16);
  return escapes[control] ?? (code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`);
};

/** Writes out every control character, as `\x1b`. */
export const escapeControls = (text: string): string => text.replace(CONTROLS, escapeOne);

/** Without colours, and every other control character written out, as `\x1b`. */
export const plainText = (text: string): string => escapeControls(text.replace(SGR, ""));

/** Further lines stand further right, so that none of them looks like an entry of its own. */
export const indentLines = (text: string, indent = "    "): string => text.replaceAll("\n", `\n${indent}`);

/** JSON in which no character acts on a terminal; JSON.stringify writes out C0 alone. */
export const safeJson = (value: unknown): string =>
  JSON.stringify(value).replace(CONTROLS, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`);
