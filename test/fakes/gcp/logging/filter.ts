/**
 * Evaluates Cloud Logging's filters over the fake's entries. Written only from the documentation, as an independent
 * check of the filters that the adapter pushes down: https://cloud.google.com/logging/docs/view/logging-query-language
 */
import { compileRe2 } from "../../../../adapters/shared/logs/re2.ts";
import { severities } from "../../../../core/domain/logs/entry.ts";
import { fold } from "../../../../core/domain/logs/filter/fold.ts";
import { parseLogFilter } from "../../../../core/domain/logs/filter/parse.ts";
import { type Comparison, conjuncts, type LogFilter } from "../../../../core/domain/logs/filter/tree.ts";
import { GrpcError } from "../grpc.ts";

/** An entry as JSON, in the documentation's form. */
export type EntryJson = Readonly<Record<string, unknown>>;

const FILTER_CHARS = 20_000;

const byOrder = (op: Comparison, value: number | bigint | string, wanted: number | bigint | string): boolean => {
  switch (op) {
    case "<":
      return value < wanted;
    case "<=":
      return value <= wanted;
    case ">":
      return value > wanted;
    case ">=":
      return value >= wanted;
    case "!=":
      return value !== wanted;
    default:
      return value === wanted;
  }
};

const nanosOf = (text: string): bigint => {
  const [, seconds = "", fraction = ""] = /^(.*?)(?:\.(\d+))?(?:Z|\+00:00)$/.exec(text) ?? [];
  return BigInt(Date.parse(`${seconds}Z`)) * 1_000_000n + BigInt(fraction.padEnd(9, "0").slice(0, 9));
};

/**
 * Returns the values at a path. If the path ends at a list, returns its elements. Does not descend into lists on the
 * way, because no source documents that.
 */
const at = (value: unknown, path: readonly string[]): unknown[] => {
  const [first, ...rest] = path;
  if (first === undefined) return Array.isArray(value) ? value.flatMap((one) => at(one, [])) : [value];
  if (Array.isArray(value)) return [];
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, first)) return [];
  return at((value as Record<string, unknown>)[first], rest);
};

const leaves = (value: unknown): unknown[] =>
  typeof value === "object" && value !== null ? Object.values(value).flatMap(leaves) : [value];

const textOf = (op: Comparison, value: string, literal: string): boolean => {
  if (op === "=~" || op === "!~") {
    const found = compileRe2(literal);
    if (typeof found !== "function")
      throw new GrpcError("INVALID_ARGUMENT", "the filter contains an invalid regular expression");
    return found(value) === (op === "=~");
  }
  return op === ":" ? fold(value).includes(fold(literal)) : byOrder(op, fold(value), fold(literal));
};

/** "Values and conversions": the literal is converted to the field's type; if that fails, the comparison is false. */
const compareValue = (op: Comparison, value: unknown, literal: string): boolean => {
  switch (typeof value) {
    case "string":
      return textOf(op, value, literal);
    case "number": {
      const number = Number(literal);
      return literal.trim() !== "" && !Number.isNaN(number) && byOrder(op, value, number);
    }
    case "boolean":
      return /^(true|false)$/i.test(literal) && byOrder(op, String(value), literal.toLowerCase());
    default:
      return false;
  }
};

/** "Missing fields": fields defined in the LogEntry type have a default; others make the comparison false. */
const defaults: Readonly<Record<string, unknown>> = {
  textPayload: "",
  "httpRequest.status": 0,
  insertId: "",
  trace: "",
};

const compare = (entry: EntryJson, path: readonly string[], op: Comparison, literal: string | null): boolean => {
  const [first] = path;
  if (first === "timestamp") return byOrder(op, nanosOf(String(entry["timestamp"])), nanosOf(literal ?? ""));
  if (first === "severity") {
    const rank = (word: string) => severities[word.toUpperCase() as keyof typeof severities] ?? Number(word);
    return byOrder(op, rank(String(entry["severity"])), rank(literal ?? ""));
  }
  const found = at(entry, path);
  if (literal === null) return found.some((value) => (value === null) === (op !== "!="));
  const fallback = defaults[path.join(".")];
  const values = found.length === 0 && fallback !== undefined ? [fallback] : found;
  return values.some((value) => compareValue(op, value, literal));
};

const passes = (filter: LogFilter, entry: EntryJson): boolean => {
  switch (filter.kind) {
    case "and":
      return filter.terms.every((term) => passes(term, entry));
    case "or":
      return filter.terms.some((term) => passes(term, entry));
    case "not":
      return !passes(filter.term, entry);
    case "compare":
      return compare(entry, filter.path, filter.op, filter.literal.text);
    case "exists":
      return at(entry, filter.path).length > 0;
    case "search":
      // "Global restrictions" compare every field with `:`.
      return leaves(entry).some((leaf) => leaf !== null && textOf(":", String(leaf), filter.text));
    case "log_id":
      return fold(decodeURIComponent(String(entry["logName"]).split("/logs/")[1] ?? "")) === fold(filter.id);
  }
};

/**
 * Returns the service to which all matches belong; undefined if the filter names none. The caller then reads only this
 * service's entries, because the fake holds the entries of many suites.
 */
const serviceOf = (filter: LogFilter): string | undefined => {
  const found = conjuncts(filter).find(
    (term) => term.kind === "compare" && term.op === "=" && term.path.join(".") === "resource.labels.service_name",
  );
  return found?.kind === "compare" ? (found.literal.text ?? undefined) : undefined;
};

export interface RequestFilter {
  readonly passes: (entry: EntryJson) => boolean;
  readonly service: string | undefined;
}

/** Parses a request's filter; throws INVALID_ARGUMENT if it does not parse or is too long (logging.proto). */
export const filterOf = (text: string): RequestFilter => {
  if (text.length > FILTER_CHARS) throw new GrpcError("INVALID_ARGUMENT", "the filter is longer than 20000 characters");
  const parsed = parseLogFilter(text, compileRe2);
  if (parsed.isErr()) throw new GrpcError("INVALID_ARGUMENT", `the filter does not parse: ${parsed.error.message}`);
  const filter = parsed.value;
  return { passes: (entry) => passes(filter, entry), service: serviceOf(filter) };
};
