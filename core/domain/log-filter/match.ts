/**
 * A filter as a predicate on entries, with the meaning that Cloud Logging documents:
 * https://docs.cloud.google.com/logging/docs/view/logging-query-language
 *
 * A payload field or label that an entry lacks makes every comparison false, `!=` among them; `NOT` of it is true.
 * A field of the entry's own that is lacking counts as empty, 0 or false. Of a list, one element has to match.
 */
import type { LogEntry } from "../log-entry.ts";
import { typeOf } from "./fields.ts";
import { durationOf, fold, numberOf, severityRank, timeOf, truthOf } from "./literals.ts";
import { type CompilePattern, searchOf } from "./pattern.ts";
import { type LogRecord, recordOf } from "./record.ts";
import type { Comparison, LogFilter } from "./tree.ts";
import { type Leaf, someLeaf, valuesAt } from "./values.ts";

/** An entry, and its record once something needs it. A class: an object literal with a getter is dear for every entry. */
class Subject {
  readonly entry: LogEntry;
  #record: LogRecord | undefined;

  constructor(entry: LogEntry) {
    this.entry = entry;
  }

  get record(): LogRecord {
    this.#record ??= recordOf(this.entry);
    return this.#record;
  }
}

type Predicate = (subject: Subject) => boolean;

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

/** A number has no parts to be found in it: `:` is `=`. */
const wholly = (op: Comparison): Comparison => (op === ":" ? "=" : op);

/** A comparison with a text: without regard to case, or by a regular expression, which does regard it. */
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

/** A comparison with values whose own type decides how. */
const anyTest = (op: Comparison, literal: string, compile: CompilePattern): ((value: unknown) => boolean) => {
  const ofText = textTest(op, literal, compile);
  const [number, truth] = [numberOf(literal), truthOf(literal)];
  const ofLeaf = (value: Leaf): boolean => {
    if (typeof value === "string") return ofText(value);
    if (typeof value === "number") return number !== undefined && byOrder(wholly(op), value, number);
    if (typeof value === "boolean" && truth !== undefined)
      return op === "!=" ? value !== truth : wholly(op) === "=" && value === truth;
    return false;
  };
  return (value) =>
    typeof value === "object" && value !== null ? op === ":" && someLeaf(value, ofLeaf) : ofLeaf(value as Leaf);
};

/** Finds a text in any leaf; numbers and truths are read as they are written. */
const searchTest = (text: string): ((value: unknown) => boolean) => {
  const folded = fold(text);
  return (value) => someLeaf(value, (leaf) => leaf !== null && fold(String(leaf)).includes(folded));
};

const compare = (filter: Extract<LogFilter, { kind: "compare" }>, compile: CompilePattern): Predicate => {
  const { path, op, literal } = filter;
  const { text } = literal;
  const type = typeOf(path);
  if (text === null) {
    const test = nullTest(op);
    return ({ record }) => valuesAt(record, path).some(test);
  }
  switch (type) {
    case "timestamp": {
      const time = timeOf(text) ?? 0n;
      return ({ entry }) => byOrder<bigint>(wholly(op), entry.instant, time);
    }
    case "severity": {
      if (op === ":") {
        const test = textTest(op, text, compile);
        return ({ entry }) => test(entry.severity);
      }
      const rank = severityRank(text) ?? 0;
      return ({ entry }) => byOrder(op, severityRank(entry.severity) ?? 0, rank);
    }
    case "number": {
      const number = numberOf(text);
      return ({ record }) =>
        number !== undefined && byOrder(wholly(op), (valuesAt(record, path)[0] as number | undefined) ?? 0, number);
    }
    case "duration": {
      const seconds = durationOf(text) ?? 0;
      return ({ record }) =>
        byOrder(wholly(op), durationOf((valuesAt(record, path)[0] as string | undefined) ?? "0s") ?? 0, seconds);
    }
    case "truth": {
      const test = anyTest(op, text, compile);
      return ({ record }) => test(valuesAt(record, path)[0] ?? false);
    }
    case "text": {
      const test = textTest(op, text, compile);
      return ({ record }) => test((valuesAt(record, path)[0] as string | undefined) ?? "");
    }
    default: {
      const test = anyTest(op, text, compile);
      return ({ record }) => valuesAt(record, path).some(test);
    }
  }
};

const predicateOf = (filter: LogFilter, compile: CompilePattern): Predicate => {
  switch (filter.kind) {
    case "and": {
      const terms = filter.terms.map((term) => predicateOf(term, compile));
      return (subject) => terms.every((term) => term(subject));
    }
    case "or": {
      const terms = filter.terms.map((term) => predicateOf(term, compile));
      return (subject) => terms.some((term) => term(subject));
    }
    case "not": {
      const term = predicateOf(filter.term, compile);
      return (subject) => !term(subject);
    }
    case "compare":
      return compare(filter, compile);
    case "exists":
      return ({ record }) => valuesAt(record, filter.path).length > 0;
    case "search": {
      const test = searchTest(filter.text);
      return ({ record }) => test(record);
    }
    case "log_id":
      return ({ entry }) => entry.logName === filter.id;
  }
};

export const matcherOf = (filter: LogFilter, compile: CompilePattern): ((entry: LogEntry) => boolean) => {
  const predicate = predicateOf(filter, compile);
  return (entry) => predicate(new Subject(entry));
};
