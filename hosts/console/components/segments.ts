/**
 * Splits text that a service wrote into segments for display: ANSI text colours become class names, other escape
 * sequences disappear, and control characters become visible. The console renders every segment as text.
 */

export interface Segment {
  readonly text: string;
  /** Class names such as `ansi-31 ansi-bold`; empty for plain text. */
  readonly className: string;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with a control character
const ESCAPES = /\u001b(?:\[([0-9;:?]*)[ -/]*([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\^_])/g;

/** C0 and C1 controls except tab and newline, and the characters that reorder or hide text. */
const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finds control characters
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

const C0_PICTURES = 0x2400;

const pictureOf = (character: string): string => {
  const code = character.codePointAt(0) as number;
  return code < 0x20
    ? String.fromCodePoint(C0_PICTURES + code)
    : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
};

interface Style {
  colour: string;
  bold: boolean;
  dim: boolean;
}

/** Returns the number of further codes that belong to an extended colour: `38;5;N` or `38;2;R;G;B`. */
const extendedLength = (kind: number | undefined): number => (kind === 5 ? 2 : kind === 2 ? 4 : 0);

const applyCode = (style: Style, code: number): void => {
  if (code === 0) Object.assign(style, { colour: "", bold: false, dim: false });
  else if (code === 1) style.bold = true;
  else if (code === 2) style.dim = true;
  else if (code === 22) Object.assign(style, { bold: false, dim: false });
  else if (code === 39) style.colour = "";
  else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) style.colour = `ansi-${code}`;
};

const applyCodes = (style: Style, parameters: string): void => {
  const codes = parameters.split(/[;:]/).map(Number);
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] as number;
    if (code === 38 || code === 48) at += extendedLength(codes[at + 1]);
    else applyCode(style, code);
  }
};

const classOf = ({ colour, bold, dim }: Style): string =>
  [colour, bold ? "ansi-bold" : "", dim ? "ansi-dim" : ""].filter(Boolean).join(" ");

const visibleSegments = (text: string, className: string): Segment[] => {
  const segments: Segment[] = [];
  let from = 0;
  for (const { index, 0: character } of text.matchAll(INVISIBLE)) {
    if (index > from) segments.push({ text: text.slice(from, index), className });
    segments.push({ text: pictureOf(character), className: "control" });
    from = index + character.length;
  }
  if (from < text.length) segments.push({ text: text.slice(from), className });
  return segments;
};

export const segmentsOf = (text: string): readonly Segment[] => {
  const segments: Segment[] = [];
  const style: Style = { colour: "", bold: false, dim: false };
  let from = 0;
  for (const match of text.matchAll(ESCAPES)) {
    segments.push(...visibleSegments(text.slice(from, match.index), classOf(style)));
    if (match[2] === "m") applyCodes(style, match[1] ?? "");
    from = match.index + match[0].length;
  }
  segments.push(...visibleSegments(text.slice(from), classOf(style)));
  return segments;
};
