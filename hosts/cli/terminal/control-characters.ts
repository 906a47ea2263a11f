/**
 * Makes untrusted text safe to print. Service logs must not move the cursor, set the title, write to the clipboard or
 * change the reading direction (docs/decisions/0013).
 */

/** Select Graphic Rendition: colours and weights. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject
export const SGR = /\u001b\[[0-9;:]*m/g;
/**
 * C0 (except tab and newline), DEL, C1, the line and paragraph separators, and bidirectional controls:
 * https://www.unicode.org/reports/tr9/
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

const escapes: Readonly<Record<string, string>> = { "\r": "\\r", "\b": "\\b" };

const escapeOne = (control: string): string => {
  const code = control.charCodeAt(0).toString(16);
  return escapes[control] ?? (code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`);
};

/** Replaces every control character with its escape, such as `\x1b`. */
export const escapeControls = (text: string): string => text.replace(CONTROLS, escapeOne);

/** Removes colours and replaces every other control character with its escape, such as `\x1b`. */
export const plainText = (text: string): string => escapeControls(text.replace(SGR, ""));

/** Indents all lines after the first, so that none looks like a separate entry. */
export const indentLines = (text: string, indent = "    "): string => text.replaceAll("\n", `\n${indent}`);

/** JSON with all control characters escaped. JSON.stringify escapes only C0. */
export const safeJson = (value: unknown): string =>
  JSON.stringify(value).replace(CONTROLS, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`);
