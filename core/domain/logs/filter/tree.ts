/**
 * A log filter as a syntax tree with resolved precedence. The language is the Cloud Logging query language:
 * https://docs.cloud.google.com/logging/docs/view/logging-query-language
 */

/** A comparison operator. `:` tests whether a value contains the given text; `=~` matches a regular expression. */
export type Comparison = "=" | "!=" | "<" | "<=" | ">" | ">=" | ":" | "=~" | "!~";

/** The path of a value in an entry, such as `["jsonPayload", "user", "id"]`. The first part is a field of the entry. */
export type FieldPath = readonly [string, ...string[]];

/** The right side of a comparison: text, interpreted by the type of the field's value, or null for `NULL_VALUE`. */
export type Literal = { readonly text: string } | { readonly text: null };

/** A parsed filter. */
export type LogFilter =
  /** Matches every entry if it has no terms. */
  | { readonly kind: "and"; readonly terms: readonly LogFilter[] }
  | { readonly kind: "or"; readonly terms: readonly LogFilter[] }
  | { readonly kind: "not"; readonly term: LogFilter }
  | { readonly kind: "compare"; readonly path: FieldPath; readonly op: Comparison; readonly literal: Literal }
  | { readonly kind: "exists"; readonly path: FieldPath }
  /** Matches if any value in the entry contains the text. */
  | { readonly kind: "search"; readonly text: string }
  /** `log_id("stdout")`: matches entries of this log. */
  | { readonly kind: "log_id"; readonly id: string };

/** The filter that every entry matches. */
export const everything: LogFilter = { kind: "and", terms: [] };

export const isEverything = (filter: LogFilter): boolean => filter.kind === "and" && filter.terms.length === 0;

/** Joins terms. Flattens terms of the same kind, and returns a single term unchanged. */
export const joined = (kind: "and" | "or", terms: readonly LogFilter[]): LogFilter => {
  const flat = terms.flatMap((term) => (term.kind === kind ? term.terms : [term]));
  const [only] = flat;
  return flat.length === 1 && only !== undefined ? only : { kind, terms: flat };
};

/** Returns the conditions that every match fulfils: the terms of the outermost AND. */
export const conjuncts = (filter: LogFilter): readonly LogFilter[] => (filter.kind === "and" ? filter.terms : [filter]);
