/**
 * A log filter as a tree, its precedence resolved: the Cloud Logging query language,
 * https://docs.cloud.google.com/logging/docs/view/logging-query-language
 */

export type Comparison = "=" | "!=" | "<" | "<=" | ">" | ">=" | ":" | "=~" | "!~";

/** Where a value stands in an entry, such as `["jsonPayload", "user", "id"]`; the first part is a field of the entry. */
export type FieldPath = readonly [string, ...string[]];

/** What a field is compared with: text, read by the type of the field's value, or `NULL_VALUE`. */
export type Literal = { readonly text: string } | { readonly text: null };

export type LogFilter =
  /** No terms: every entry. */
  | { readonly kind: "and"; readonly terms: readonly LogFilter[] }
  | { readonly kind: "or"; readonly terms: readonly LogFilter[] }
  | { readonly kind: "not"; readonly term: LogFilter }
  | { readonly kind: "compare"; readonly path: FieldPath; readonly op: Comparison; readonly literal: Literal }
  | { readonly kind: "exists"; readonly path: FieldPath }
  /** Some value anywhere in the entry has this text in it. */
  | { readonly kind: "search"; readonly text: string }
  /** `log_id("stdout")`: the entry is of this log. */
  | { readonly kind: "log_id"; readonly id: string };

/** The filter that every entry matches. */
export const everything: LogFilter = { kind: "and", terms: [] };

export const isEverything = (filter: LogFilter): boolean => filter.kind === "and" && filter.terms.length === 0;

/** Joins terms; what is joined in the same way already is taken apart, and one term alone stays as it is. */
export const joined = (kind: "and" | "or", terms: readonly LogFilter[]): LogFilter => {
  const flat = terms.flatMap((term) => (term.kind === kind ? term.terms : [term]));
  const [only] = flat;
  return flat.length === 1 && only !== undefined ? only : { kind, terms: flat };
};

/** What must hold for every match: the terms of the outermost AND. */
export const conjuncts = (filter: LogFilter): readonly LogFilter[] => (filter.kind === "and" ? filter.terms : [filter]);
