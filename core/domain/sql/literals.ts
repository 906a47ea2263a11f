/**
 * Rewrites GoogleSQL string and bytes literals to forms that all parsers read in the same way.
 * https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/lexical#string_and_bytes_literals
 */

import { matchAt, simpleEscapes } from "../wire/lexing.ts";

export interface LiteralFault {
  readonly message: string;
  /** The offset of the fault in the statement. */
  readonly at: number;
}

/** GoogleSQL has two simple escapes that `simpleEscapes` lacks. */
const simple: ReadonlyMap<string, string> = new Map([...simpleEscapes, ["?", "?"], ["`", "`"]]);

/** Numeric escapes: the digits after a backslash, and their base. */
const numbers: readonly (readonly [RegExp, number])[] = [
  [/[xX]([0-9a-fA-F]{2})/y, 16],
  [/([0-3][0-7]{2})/y, 8],
  [/u([0-9a-fA-F]{4})/y, 16],
  [/U([0-9a-fA-F]{8})/y, 16],
];

const OPENING = /(r|b|rb|br)?("""|'''|"|')/iy;
const WORD = /[A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER = /[0-9][A-Za-z0-9_.]*/y;
const COMMENT = /(?:--|#)[^\n]*|\/\*/y;
const SPACE = /\s+/y;

class Fault extends Error {
  readonly at: number;
  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

/** Returns the character of an escape sequence and the end of the sequence. */
const escaped = (text: string, at: number, isBytes: boolean): { readonly value: string; readonly end: number } => {
  const [next = ""] = text.slice(at + 1, at + 3);
  const value = simple.get(next);
  if (value !== undefined) return { value, end: at + 2 };
  for (const [pattern, base] of numbers) {
    const [all, digits = ""] = matchAt(pattern, text, at + 1) ?? [];
    if (all === undefined || (isBytes && /^u/i.test(all))) continue;
    const code = Number.parseInt(digits, base);
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
      throw new Fault(`illegal escape sequence '\\${all}': not a Unicode character`, at);
    return { value: String.fromCodePoint(code), end: at + 1 + all.length };
  }
  throw new Fault(`illegal escape sequence '\\${next}'; write \\\\ for a backslash, or a raw literal: r'...'`, at);
};

/** Returns the content of a literal. Represents bytes as characters below 256. */
const contentOf = (text: string, from: number, to: number, isRaw: boolean, isBytes: boolean): string => {
  const parts: string[] = [];
  for (let at = from; at < to; ) {
    const backslash = isRaw ? -1 : text.indexOf("\\", at);
    const end = backslash < 0 || backslash >= to ? to : backslash;
    const plain = text.slice(at, end);
    parts.push(
      isBytes ? Array.from(new TextEncoder().encode(plain), (byte) => String.fromCharCode(byte)).join("") : plain,
    );
    if (end === to) break;
    const { value, end: next } = escaped(text, end, isBytes);
    parts.push(value);
    at = next;
  }
  return parts.join("");
};

const escapes: Readonly<Record<string, string>> = { "\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r" };

const written = (content: string, isBytes: boolean): string =>
  isBytes
    ? `b'${content.replace(/[^ !#-&(-[\]-~]/g, (one) => `\\x${one.charCodeAt(0).toString(16).padStart(2, "0")}`)}'`
    : `'${content.replace(/[\\'\n\r]/g, (one) => escapes[one] as string)}'`;

/** Returns white space that keeps the text after a shortened literal at its original position. */
const paddingFor = (original: string, replacement: string): string => {
  const breaks = original.split("\n").length - 1;
  const column = original.length - 1 - original.lastIndexOf("\n");
  return breaks > 0
    ? "\n".repeat(breaks) + " ".repeat(column)
    : " ".repeat(Math.max(0, original.length - replacement.length));
};

interface Literal {
  readonly text: string;
  readonly end: number;
}

/** Rewrites the literal that opens at `at`. Returns undefined if it is not closed. */
const literalAt = (text: string, at: number, opening: RegExpExecArray): Literal | undefined => {
  const [head, prefix = "", quote = ""] = opening;
  const from = at + head.length;
  let to = from;
  while (to < text.length && !text.startsWith(quote, to)) to += text[to] === "\\" ? 2 : 1;
  if (to >= text.length) return undefined;
  const end = to + quote.length;
  const original = text.slice(at, end);
  const [isRaw, isBytes] = [/r/i.test(prefix), /b/i.test(prefix)];
  // All parsers read these literals in the same way.
  const isPlain = quote.length === 1 && (isBytes ? /^[bB].[ -[\]-~]*$/.test(original) : !original.includes("\\"));
  if (isRaw ? !isBytes : isPlain) return { text: original, end };
  const replacement = written(contentOf(text, from, to, isRaw, isBytes), isBytes);
  return { text: replacement + paddingFor(original, replacement), end };
};

/** Returns the end of the white space or comment at `at`. Returns `at` if other text begins there. */
const endOfBlank = (text: string, at: number): number => {
  const [space] = matchAt(SPACE, text, at) ?? [];
  if (space !== undefined) return at + space.length;
  const [comment = ""] = matchAt(COMMENT, text, at) ?? [];
  if (comment !== "/*") return at + comment.length;
  const end = text.indexOf("*/", at + 2);
  return end < 0 ? text.length : end + 2;
};

/** Returns the end of a word, a number, a quoted name or a symbol. */
const endOfToken = (text: string, at: number): number => {
  const word = matchAt(WORD, text, at) ?? matchAt(NUMBER, text, at);
  if (word !== null) return at + word[0].length;
  const name = text[at] === "`" ? text.indexOf("`", at + 1) : -1;
  return name < 0 ? at + 1 : name + 1;
};

const rewritten = (text: string): string => {
  const parts: string[] = [];
  let follows = false;
  for (let at = 0, end = 0; at < text.length; at = end) {
    end = endOfBlank(text, at);
    const opening = end > at ? null : matchAt(OPENING, text, at);
    if (opening !== null) {
      if (follows)
        throw new Fault("two literals are adjacent; join them with || or CONCAT, or write a quote as \\'", at);
      const literal = literalAt(text, at, opening);
      parts.push(literal?.text ?? text.slice(at));
      end = literal?.end ?? text.length;
      follows = true;
      continue;
    }
    if (end === at) {
      follows = false;
      end = endOfToken(text, at);
    }
    parts.push(text.slice(at, end));
  }
  return parts.join("");
};

/**
 * Rewrites all literals of a statement. The text after a literal stays on its line, and in its column unless the
 * literal becomes longer. Leaves an unclosed literal to the parser. Returns a fault for an illegal escape or for
 * adjacent literals.
 */
export const plainLiterals = (statement: string): string | LiteralFault => {
  try {
    return rewritten(statement);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { message: error.message, at: error.at };
  }
};
