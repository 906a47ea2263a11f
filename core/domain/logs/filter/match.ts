/**
 * Compiles a filter to a predicate on entries, with the semantics that Cloud Logging documents:
 * https://docs.cloud.google.com/logging/docs/view/logging-query-language
 *
 * If a payload field or a label is missing, every comparison with it is false, even `!=`, and `NOT` of the comparison
 * is true. A missing field of the entry itself counts as empty, 0 or false. A list matches if one of its elements
 * matches.
 */
import type { Instant } from "../../wire/instant.ts";
import { type LogEntry, severities } from "../entry.ts";
import { typeOf } from "./fields.ts";
import { fold } from "./fold.ts";
import { nanosOf, numberOf, severityRank, timeOf, truthOf } from "./literals.ts";
import { type CompilePattern, searchOf } from "./pattern.ts";
import { partOf, recordOf } from "./record.ts";
import type { Comparison, FieldPath, LogFilter } from "./tree.ts";
import { existsAt, type Leaf, someLeaf, valuesAt } from "./values.ts";

type Predicate = (entry: LogEntry) => boolean;

/** Returns a function that looks up the values at a path of an entry. */
const valuesOf = ([first, ...rest]: FieldPath): ((entry: LogEntry) => unknown[]) => {
  return (entry) => {
    const part = partOf(entry, first);
    return part === undefined ? [] : valuesAt(part, rest);
  };
};

const byOrder = <T extends number | bigint | string>(op: Comparison, value: T, literal: T): boolean => {
  switch (op) {
    case "=":
      return value === literal;
    case "!=":
      return value !== literal;
    case "<":
      return value < literal;
    case "<=":
      return value <= literal;
    case ">":
      return value > literal;
    case ">=":
      return value >= literal;
    default:
      return false;
  }
};

/** Only text can contain other text. For all other values, `:` means `=`. */
const asEquals = (op: Comparison): Comparison => (op === ":" ? "=" : op);

/** Returns a test that compares text with the literal. Only regular expressions distinguish letter case. */
export const textTest = (op: Comparison, literal: string, compile: CompilePattern): ((text: string) => boolean) => {
  if (op === "=~" || op === "!~") {
    const finds = searchOf(compile, literal);
    return op === "=~" ? finds : (text) => !finds(text);
  }
  const folded = fold(literal);
  if (op === ":") return (text) => fold(text).includes(folded);
  return (text) => byOrder(op, fold(text), folded);
};

const nullTest =
  (op: Comparison) =>
  (value: unknown): boolean =>
    op === "=" || op === ":" ? value === null : op === "!=" && value !== null;

/** Returns a test that compares a value with the literal according to the type of the value. */
const anyTest = (op: Comparison, literal: string, compile: CompilePattern): ((value: unknown) => boolean) => {
  const ofText = textTest(op, literal, compile);
  const [number, truth] = [numberOf(literal), truthOf(literal)];
  const ofLeaf = (value: Leaf): boolean => {
    if (typeof value === "string") return ofText(value);
    if (typeof value === "number") return number !== undefined && byOrder(asEquals(op), value, number);
    // true > false
    return typeof value === "boolean" && truth !== undefined && byOrder(asEquals(op), Number(value), Number(truth));
  };
  return (value) =>
    typeof value === "object" && value !== null ? op === ":" && someLeaf(value, ofLeaf) : ofLeaf(value as Leaf);
};

/** Returns all leaves of an entry, folded for search. Numbers and booleans are searched as text. */
const wordsOf = (entry: LogEntry): readonly string[] => {
  const words: string[] = [];
  someLeaf(recordOf(entry), (leaf) => {
    if (leaf !== null) words.push(fold(String(leaf)));
    return false;
  });
  return words;
};

/** Caches the words of the last entry, because one filter may search the same entry for a thousand texts. */
const rememberedWords = (): typeof wordsOf => {
  let last: { readonly entry: LogEntry; readonly words: readonly string[] } | undefined;
  return (entry) => {
    if (last?.entry !== entry) last = { entry, words: wordsOf(entry) };
    return last.words;
  };
};

/** Compiles a comparison. The parser has checked the literal against the type of the field. */
const compare = (filter: Extract<LogFilter, { kind: "compare" }>, compile: CompilePattern): Predicate => {
  const { path, op, literal } = filter;
  const { text } = literal;
  const type = typeOf(path);
  const values = valuesOf(path);
  if (text === null) {
    const test = nullTest(op);
    return (entry) => values(entry).some(test);
  }
  switch (type) {
    case "timestamp": {
      const time = timeOf(text) as Instant;
      return ({ instant }) => byOrder<bigint>(asEquals(op), instant, time);
    }
    case "severity": {
      if (op === ":") {
        const test = textTest(op, text, compile);
        return ({ severity }) => test(severity);
      }
      const rank = severityRank(text) as number;
      return ({ severity }) => byOrder(op, severities[severity], rank);
    }
    case "number": {
      const number = numberOf(text) as number;
      return (entry) => byOrder(asEquals(op), (values(entry)[0] as number | undefined) ?? 0, number);
    }
    case "duration": {
      const nanos = nanosOf(text) as bigint;
      const spent = (entry: LogEntry) => nanosOf((values(entry)[0] as string | undefined) ?? "0s") ?? 0n;
      return (entry) => byOrder(asEquals(op), spent(entry), nanos);
    }
    case "truth": {
      const test = anyTest(op, text, compile);
      return (entry) => test(values(entry)[0] ?? false);
    }
    case "text": {
      const test = textTest(op, text, compile);
      return (entry) => test((values(entry)[0] as string | undefined) ?? "");
    }
    default: {
      const test = anyTest(op, text, compile);
      return (entry) => values(entry).some(test);
    }
  }
};

const matcher = (filter: LogFilter, compile: CompilePattern, words: typeof wordsOf): Predicate => {
  switch (filter.kind) {
    case "and": {
      const terms = filter.terms.map((term) => matcher(term, compile, words));
      return (entry) => terms.every((term) => term(entry));
    }
    case "or": {
      const terms = filter.terms.map((term) => matcher(term, compile, words));
      return (entry) => terms.some((term) => term(entry));
    }
    case "not": {
      const term = matcher(filter.term, compile, words);
      return (entry) => !term(entry);
    }
    case "compare":
      return compare(filter, compile);
    case "exists": {
      const [first, ...rest] = filter.path;
      return (entry) => {
        const part = partOf(entry, first);
        return part !== undefined && existsAt(part, rest);
      };
    }
    case "search": {
      const folded = fold(filter.text);
      return (entry) => words(entry).some((word) => word.includes(folded));
    }
    case "log_id": {
      const test = textTest("=", filter.id, compile);
      return ({ logName }) => test(logName);
    }
  }
};

/**
 * Compiles a filter to a predicate on entries.
 *
 * @example
 * ```ts
 * const matches = matcherOf(parseLogFilter("severity>=ERROR", compile)._unsafeUnwrap(), compile);
 * const errors = entries.filter(matches);
 * ```
 */
export const matcherOf = (filter: LogFilter, compile: CompilePattern): ((entry: LogEntry) => boolean) =>
  matcher(filter, compile, rememberedWords());
