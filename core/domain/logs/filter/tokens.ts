/** The tokens of a filter's text, with their offsets. */
import { err, ok, type Result } from "../../../result.ts";
import { matchAt, simpleEscapes } from "../../wire/lexing.ts";
import { type FilterProblem, problemAt } from "./problem.ts";
import type { Comparison } from "./tree.ts";

export interface Token {
  readonly kind: "text" | "string" | "comparison" | "(" | ")" | "," | "-" | "end";
  /** For a string, its content without quotes and with escapes resolved. */
  readonly text: string;
  readonly at: number;
  /** True if no space separates the token from the previous one. */
  readonly glued: boolean;
}

const comparisons: readonly Comparison[] = ["=~", "!~", "!=", "<=", ">=", "=", "<", ">", ":"];

/** All Unicode white space, because pasted filters may contain no-break spaces. A comment ends at a line break. */
const SPACE = /[\t\n\r\p{Z}]+|--[^\n\r\u2028\u2029]*/uy;
/** A date-time needs no quotes, despite its colons. */
const DATE_TIME = /\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)(?=[\t\n\r\p{Z}()]|--|$)/uy;
/** A word may contain a minus but not start with one. Two minuses start a comment. */
const TEXT = /(?!-)(?:[^\t\n\r\p{Z}\p{Cf}\p{Default_Ignorable_Code_Point}"'()=!<>:,~\\-]|-(?!-))+/uy;
const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|U(0010[0-9a-fA-F]{4}|000[0-9a-fA-F]{5})|x([0-9a-fA-F]{2})|([\s\S]))/y;
const PLAIN = /[^"\\]+/y;
/** Joiners, soft hyphens and similar characters, which emoji and many scripts need. Allowed only inside quotes. */
const UNSEEN = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/uy;

/**
 * Characters that are invisible or change the direction of text. A filter must write them as escapes.
 * https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern must match control characters
const HIDDEN = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** Returns the character of an escape. An unknown escape keeps its backslash, for regular expressions. */
const meaningOf = (match: RegExpExecArray): string => {
  const [whole, four, eight, two, sign = ""] = match;
  const code = four ?? eight ?? two;
  return code === undefined ? (simpleEscapes.get(sign) ?? whole) : String.fromCodePoint(Number.parseInt(code, 16));
};

/** Reads a quoted string that begins at `from`. `end` is the offset after its closing quote. */
const readString = (text: string, from: number): Result<{ value: string; end: number }, FilterProblem> => {
  let value = "";
  let at = from + 1;
  while (at < text.length) {
    if (text[at] === '"') return ok({ value, end: at + 1 });
    const plain = matchAt(PLAIN, text, at);
    const piece = plain ?? matchAt(ESCAPE, text, at);
    if (piece === null) break;
    value += plain === null ? meaningOf(piece) : piece[0];
    at += piece[0].length;
  }
  return problemAt(from, 'this quote is not closed; write a quote inside a string as \\"');
};

const invisibleCharacter = (sign: string): string =>
  `invisible character; inside quotes, write it as \\u${(sign.codePointAt(0) as number).toString(16).padStart(4, "0")}`;

const unexpectedCharacter = (text: string, at: number): string => {
  const unseen = matchAt(UNSEEN, text, at);
  if (unseen !== null) return invisibleCharacter(unseen[0]);
  switch (text[at]) {
    case "'":
      return 'write strings in double quotes: "..."';
    case "!":
      return "'!' is not an operator; use NOT, != or !~";
    case "~":
      return "'~' is not an operator; use =~ or !~";
    default:
      return `'${text[at]}' is allowed only in double quotes`;
  }
};

export const tokensOf = (text: string): Result<readonly Token[], FilterProblem> => {
  const hidden = HIDDEN.exec(text);
  if (hidden !== null) return problemAt(hidden.index, invisibleCharacter(hidden[0]));
  const tokens: Token[] = [];
  let at = 0;
  let glued = false;
  const add = (kind: Token["kind"], value: string, length: number) => {
    tokens.push({ kind, text: value, at, glued });
    at += length;
    glued = true;
  };
  while (at < text.length) {
    const space = matchAt(SPACE, text, at);
    const sign = text[at] as string;
    const comparison = comparisons.find((one) => text.startsWith(one, at));
    const word = matchAt(DATE_TIME, text, at) ?? matchAt(TEXT, text, at);
    if (space !== null) {
      at += space[0].length;
      glued = false;
    } else if (sign === "(" || sign === ")" || sign === "," || sign === "-") add(sign, sign, 1);
    else if (sign === '"') {
      const read = readString(text, at);
      if (read.isErr()) return err(read.error);
      add("string", read.value.value, read.value.end - at);
    } else if (comparison !== undefined) add("comparison", comparison, comparison.length);
    else if (word !== null) add("text", word[0], word[0].length);
    else return problemAt(at, unexpectedCharacter(text, at));
  }
  tokens.push({ kind: "end", text: "", at, glued: false });
  return ok(tokens);
};
