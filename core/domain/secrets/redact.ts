/** Removes the values of secrets from text. */
import { toBase64 } from "../wire/base64.ts";

/** Shorter values would match unrelated text. */
const MIN_CHARS = 4;

/** Shorter lines of a value would match unrelated text. */
const MIN_LINE_CHARS = 16;

/** Bounds the time of a redaction. If there are more lines, redacts only the longest. */
const MAX_LINES = 1000;

const REPLACEMENT = "[secret]";

const utf8 = new TextEncoder();

/** Returns the forms in which a service prints a value: plain, quoted, in a URL, and in base64. */
const formsOf = (value: string): string[] => {
  const encoded = toBase64(value).replace(/=+$/, "");
  const quoted = JSON.stringify(value).slice(1, -1);
  const url = encodeURIComponent(value);
  return [
    value,
    quoted,
    url,
    url.replaceAll("%20", "+"),
    new URLSearchParams([["", value]]).toString().slice(1),
    encoded,
    encoded.replaceAll("+", "-").replaceAll("/", "_"),
  ];
};

const byLength = (a: string, b: string): number => b.length - a.length;

/** Returns the longest lines of the values. A service prints a value with several lines as several lines of output. */
const linesOf = (values: readonly string[]): string[] => {
  const lines = values.flatMap((value) => value.split(/\r?\n/)).filter((line) => line.length >= MIN_LINE_CHARS);
  return [...new Set(lines)].sort(byLength).slice(0, MAX_LINES);
};

interface Range {
  readonly start: number;
  readonly end: number;
}

export class Redactor {
  readonly #values: readonly string[];
  #built: readonly string[] | undefined;

  constructor(values: readonly string[]) {
    this.#values = values;
  }

  /**
   * The length of the longest form of any value, in UTF-8 bytes. A caller that truncates text before `redact` must keep
   * at least this many bytes beyond its limit.
   */
  get longestBytes(): number {
    return this.#forms.reduce((most, form) => Math.max(most, utf8.encode(form).length), 0);
  }

  /**
   * Truncates the text to `maxChars` characters, and replaces the values, including one that the truncation would
   * split. Does not replace forms of fewer than four characters.
   */
  redact(text: string, maxChars: number): string {
    let [redacted, at] = ["", 0];
    for (const { start, end } of this.#rangesIn(text, maxChars)) {
      if (start >= at) redacted += text.slice(at, start) + REPLACEMENT;
      at = Math.max(at, end);
    }
    return redacted + text.slice(at, Math.max(at, maxChars));
  }

  /** Returns the ranges of all forms that start before the limit, in order. */
  #rangesIn(text: string, maxChars: number): readonly Range[] {
    const ranges: Range[] = [];
    for (const form of this.#forms) {
      const searched = text.slice(0, maxChars + form.length - 1);
      for (let start = searched.indexOf(form); start >= 0; start = searched.indexOf(form, start + form.length))
        ranges.push({ start, end: start + form.length });
    }
    return ranges.sort((a, b) => a.start - b.start);
  }

  /** Created on first use, because only failures are redacted. */
  get #forms(): readonly string[] {
    this.#built ??= [...new Set([...this.#values.flatMap(formsOf), ...linesOf(this.#values)])].filter(
      (form) => form.length >= MIN_CHARS,
    );
    return this.#built;
  }
}
