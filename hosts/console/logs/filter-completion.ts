/** Finds what a user types in a filter: a field, or the value of a field. */

export type FilterContext =
  | {
      readonly kind: "field";
      /** The index of the first character that a proposal replaces. */
      readonly from: number;
    }
  | {
      readonly kind: "value";
      readonly from: number;
      /** The field's name as written in the filter. */
      readonly field: string;
      /** The part of the value before the cursor, without its quote. */
      readonly prefix: string;
    };

const PART = String.raw`(?:[A-Za-z_][\w/-]*|"(?:[^"\\]|\\.)*")`;
const FIELD = `${PART}(?:\\.${PART})*`;
const OPERATOR = "(?:=~|!~|!=|>=|<=|=|>|<|:)";
const VALUE = new RegExp(`(${FIELD})\\s*${OPERATOR}\\s*([^\\s"()]*)$`);
const QUOTED = new RegExp(`(${FIELD})\\s*${OPERATOR}\\s*$`);
const FIELD_START = /(?:^|[\s(]|(?:^|[\s(])-)((?:[A-Za-z_][\w."/-]*)?)$/;

/** The maximum length of a field and its value before the cursor: the patterns take quadratic time. */
const MAX_TERM = 500;

/** Returns the index of the quote that is open at the end of the text, or undefined. */
const openQuoteOf = (text: string): number | undefined => {
  let open: number | undefined;
  for (const { 0: found, index } of text.matchAll(/\\.|"/gs))
    if (found === '"') open = open === undefined ? index : undefined;
  return open;
};

/** Returns what the user types before the cursor, or undefined if there is nothing to propose. */
export const filterContext = (text: string, position: number): FilterContext | undefined => {
  const typed = text.slice(0, position);
  const open = openQuoteOf(typed);
  if (open !== undefined) {
    const [, field] = QUOTED.exec(typed.slice(Math.max(0, open - MAX_TERM), open)) ?? [];
    return field === undefined ? undefined : { kind: "value", from: open, field, prefix: typed.slice(open + 1) };
  }
  const term = typed.slice(-MAX_TERM);
  const [, field, prefix = ""] = VALUE.exec(term) ?? [];
  if (field !== undefined) return { kind: "value", from: position - prefix.length, field, prefix };
  const [, start] = FIELD_START.exec(term) ?? [];
  return start === undefined ? undefined : { kind: "field", from: position - start.length };
};

/** Returns whether a field, or one of its parts, begins with what the user types. Ignores letter case. */
export const fieldMatches = (name: string, typed: string): boolean => {
  const start = typed.toLowerCase();
  const whole = name.toLowerCase();
  return whole.startsWith(start) || whole.split(".").some((part) => part.startsWith(start));
};

/**
 * Returns the proposals that begin with what the user types, ignoring letter case. Returns none if what
 * the user types is already a complete proposal, so that Enter applies the filter.
 */
export const valuesMatching = <T extends { readonly label: string }>(
  options: readonly T[],
  typed: string,
): readonly T[] =>
  options.some(({ label }) => label === typed)
    ? []
    : options.filter(({ label }) =>
        label.replace(/^"/, "").toLowerCase().startsWith(typed.replace(/^"/, "").toLowerCase()),
      );

export type FilterValue = string | number | boolean | null;

/**
 * Returns the text of a value in a filter.
 * @param next the character after the cursor; an editor closes quotes
 */
export const valueText = (field: string, value: FilterValue, next: string): string => {
  if (typeof value !== "string" || (field === "severity" && /^[A-Z]+$/.test(value))) return String(value);
  const quoted = JSON.stringify(value);
  return next === '"' ? quoted.slice(0, -1) : quoted;
};
