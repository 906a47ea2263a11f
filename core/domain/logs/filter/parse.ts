/**
 * Parses a filter. Precedence from lowest to highest: AND (also implied between adjacent terms), OR, NOT.
 *
 * A caller must add its own conditions to the parsed tree, not to the text. Otherwise a client's filter could change
 * their meaning.
 */
import { ok, type Result } from "../../../result.ts";
import { comparisonProblem, typeOf, unknownField } from "./fields.ts";
import { type CompilePattern, patternProblem } from "./pattern.ts";
import { type FilterProblem, problemAt } from "./problem.ts";
import { type Token, tokensOf } from "./tokens.ts";
import { type Comparison, everything, type FieldPath, joined, type LogFilter } from "./tree.ts";

/** Maximum depth of parentheses. No real filter needs more. */
const MAX_DEPTH = 64;

/** Bounds the time that a search spends on one line: a single pattern can take a second on a line of 256 KiB. */
const MAX_PATTERNS = 30;

/** Functions of the language that Portside does not support. */
const unsupportedFunctions = ["source", "sample", "ip_in_net", "cast", "regexp_extract", "search", "timezone", "now"];

type Parsed = Result<LogFilter, FilterProblem>;

/** The innermost part of an expression: a term of the filter, or a value in a list. */
interface Leaf {
  readonly read: () => Parsed;
  /** True if a preceding minus is part of the leaf, as in a number. */
  readonly ownsMinus: boolean;
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #compile: CompilePattern;
  readonly #term: Leaf = { read: () => this.#readTerm(), ownsMinus: false };
  #next = 0;
  #depth = 0;
  #patterns = 0;

  constructor(tokens: readonly Token[], compile: CompilePattern) {
    this.#tokens = tokens;
    this.#compile = compile;
  }

  whole(): Parsed {
    if (this.#tokens.length === 1) return ok(everything);
    const filter = this.#all(this.#term);
    const { kind, at } = this.#token;
    if (filter.isErr() || kind === "end") return filter;
    return problemAt(
      at,
      kind === ")"
        ? "unexpected ')': no parenthesis is open"
        : "unexpected ',': a comma is allowed only between arguments",
    );
  }

  get #token(): Token {
    return this.#tokens[this.#next] as Token;
  }

  #take(): Token {
    const token = this.#token;
    if (token.kind !== "end") this.#next++;
    return token;
  }

  #isWord(word: string): boolean {
    return this.#token.kind === "text" && this.#token.text === word;
  }

  /** Parses a conjunction. */
  #all(leaf: Leaf): Parsed {
    const terms: LogFilter[] = [];
    for (;;) {
      const any = this.#any(leaf);
      if (any.isErr()) return any;
      terms.push(any.value);
      if (this.#isWord("AND")) this.#take();
      else if (["end", ")", ","].includes(this.#token.kind)) return ok(joined("and", terms));
    }
  }

  /** Parses a disjunction. */
  #any(leaf: Leaf): Parsed {
    const terms: LogFilter[] = [];
    for (;;) {
      const one = this.#maybeNot(leaf);
      if (one.isErr()) return one;
      terms.push(one.value);
      if (!this.#isWord("OR")) return ok(joined("or", terms));
      this.#take();
    }
  }

  #maybeNot(leaf: Leaf): Parsed {
    const { kind, at } = this.#token;
    const minus = kind === "-" && !leaf.ownsMinus;
    if (!minus && !this.#isWord("NOT")) return this.#primary(leaf);
    this.#take();
    if (minus && !this.#token.glued) return problemAt(at, "'-' must directly precede the term that it negates");
    return this.#primary(leaf).map((term): LogFilter => ({ kind: "not", term }));
  }

  #primary(leaf: Leaf): Parsed {
    const { kind, text, at } = this.#token;
    switch (kind) {
      case "(":
        return this.#parenthesised(leaf);
      case "string":
        return leaf.read();
      case "text":
        if (text === "AND" || text === "OR" || text === "NOT")
          return problemAt(at, `expected a term, found ${text}; to search for the word, quote it`);
        if (text === "&&" || text === "||")
          return problemAt(at, `use ${text === "&&" ? "AND" : "OR"} instead of '${text}'`);
        return leaf.read();
      case "-":
        return leaf.ownsMinus ? leaf.read() : problemAt(at, "negate once, or put the negated term in parentheses");
      case "comparison":
        return problemAt(at, `expected a field before '${text}'`);
      case ",":
        return problemAt(at, "unexpected ',': a comma is allowed only between arguments");
      case ")":
        return problemAt(at, "expected a term before this parenthesis");
      case "end":
        return problemAt(at, "expected a term, but the filter ends");
    }
  }

  #parenthesised(leaf: Leaf): Parsed {
    const { at } = this.#take();
    if (this.#depth === MAX_DEPTH) return problemAt(at, `parentheses are nested deeper than ${MAX_DEPTH} levels`);
    this.#depth++;
    const filter = this.#all(leaf);
    this.#depth--;
    if (filter.isErr()) return filter;
    if (this.#token.kind !== ")") return problemAt(at, "this parenthesis is not closed");
    this.#take();
    return filter;
  }

  /** Parses a search, a comparison or a function call. */
  #readTerm(): Parsed {
    const { kind, text, at } = this.#token;
    const { parts, quoted } = this.#member();
    const behind = this.#token;
    if (behind.kind === "(" && behind.glued && kind === "text") return this.#call(text, at);
    if (behind.kind === "comparison") return this.#comparison(parts, at);
    if (parts.length > 1 && quoted)
      return problemAt(at, "expected a comparison after the field; to search for this text, quote all of it");
    if (kind === "text" && text.includes("*"))
      return problemAt(at, "wildcards are not supported; quote the text, or use 'field:*'");
    return ok({ kind: "search", text });
  }

  /** Parses words and quoted parts separated by dots, such as `labels."a/b".c`. */
  #member(): { readonly parts: readonly string[]; readonly quoted: boolean } {
    const first = this.#take();
    let quoted = first.kind === "string";
    const parts = quoted ? [first.text] : first.text.split(".");
    // After a trailing dot, a quoted part must follow.
    let open = !quoted && parts.length > 1 && parts.at(-1) === "";
    while (this.#token.glued) {
      const { kind, text } = this.#token;
      if (kind === "string" && open) {
        parts[parts.length - 1] = text;
        open = false;
        quoted = true;
      } else if (kind === "text" && quoted && !open && text.startsWith(".")) {
        parts.push(...text.slice(1).split("."));
        open = parts.at(-1) === "";
      } else break;
      this.#take();
    }
    return { parts, quoted };
  }

  #call(name: string, at: number): Parsed {
    if (name.toLowerCase() === "log_id") return this.#logId(at);
    const known = unsupportedFunctions.includes(name.toLowerCase());
    return problemAt(at, known ? `the function '${name}' is not supported` : `unknown function '${name}'`);
  }

  #logId(at: number): Parsed {
    this.#take();
    const id = this.#take();
    const close = this.#take();
    return (id.kind === "string" || id.kind === "text") && close.kind === ")"
      ? ok({ kind: "log_id", id: id.text })
      : problemAt(at, 'log_id takes one argument, such as log_id("stdout")');
  }

  #comparison(parts: readonly string[], at: number): Parsed {
    const op = this.#take().text as Comparison;
    if (parts.some((part) => part === "")) return problemAt(at, "a part of the field path is empty");
    const path = parts as unknown as FieldPath;
    if (typeOf(path) === undefined) return problemAt(at, unknownField(path));
    const value: Leaf = { read: () => this.#readValue(path, op), ownsMinus: true };
    const { kind } = this.#token;
    if (kind === "(") return this.#parenthesised(value);
    if (kind === "text" || kind === "string" || kind === "-") return value.read();
    return problemAt(this.#token.at, `expected a value after '${op}'`);
  }

  #readValue(path: FieldPath, op: Comparison): Parsed {
    const { kind, at, text: first } = this.#take();
    if (kind === "-" && !(this.#token.kind === "text" && this.#token.glued))
      return problemAt(at, "expected a number directly after '-'");
    const text = kind === "-" ? `-${this.#take().text}` : first;
    if (kind === "text" && this.#token.kind === "(" && this.#token.glued) return this.#call(text, at);
    if (kind === "text" && text === "*" && op === ":") return ok({ kind: "exists", path });
    if (kind === "text" && text.includes("*"))
      return problemAt(at, "wildcards are not supported; quote the value, or use 'field:*'");
    const literal = kind === "text" && text === "NULL_VALUE" ? { text: null } : { text };
    const problem =
      comparisonProblem(path, op, literal) ?? (op === "=~" || op === "!~" ? this.#patternProblem(text) : undefined);
    return problem === undefined ? ok({ kind: "compare", path, op, literal }) : problemAt(at, problem);
  }

  #patternProblem(pattern: string): string | undefined {
    this.#patterns++;
    return this.#patterns > MAX_PATTERNS
      ? `more than ${MAX_PATTERNS} regular expressions; combine some as alternatives: a|b`
      : patternProblem(this.#compile, pattern);
  }
}

/** Converts an offset from UTF-16 units to code points. */
const inCharacters = (text: string, { at, message }: FilterProblem): FilterProblem => ({
  at: Array.from(text.slice(0, at)).length,
  message,
});

/**
 * Parses a filter. Fails with the problem and its offset in characters.
 * @param text at most 20,000 characters; empty text matches every entry
 */
export const parseLogFilter = (text: string, compile: CompilePattern): Result<LogFilter, FilterProblem> =>
  tokensOf(text)
    .andThen((tokens) => new Parser(tokens, compile).whole())
    .mapErr((problem) => inCharacters(text, problem));
