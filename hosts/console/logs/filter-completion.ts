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
      /** As the filter names it. */
      readonly field: string;
      /** The part of the value before the cursor, without its quote. */
      readonly prefix: string;
    };

const PART = String.raw`(?:[A-Za-z_][\w/-]*|"(?:[^"\\]|\\.)*")`;
const FIELD = `${PART}(?:\\.${PART})*`;
const VALUE = new RegExp(`(${FIELD})\\s*(?:=~|!~|!=|>=|<=|=|>|<|:)\\s*((")((?:[^"\\\\]|\\\\.)*)|[^\\s"()]*)$`);
const FIELD_START = /(?:^|[\s(]|(?:^|[\s(])-)((?:[A-Za-z_][\w."/-]*)?)$/;

/** Returns the number of quotes that do not belong to an escape. */
const quotesIn = (text: string): number => text.replace(/\\./g, "").split('"').length - 1;

/** Returns what the user types before the cursor, or undefined if there is nothing to propose. */
export const filterContext = (text: string, position: number): FilterContext | undefined => {
  const typed = text.slice(0, position);
  const value = VALUE.exec(typed);
  if (value !== null && quotesIn(typed.slice(0, value.index)) % 2 === 0) {
    const [, field = "", all = "", quote, quoted = ""] = value;
    return { kind: "value", from: position - all.length, field, prefix: quote === undefined ? all : quoted };
  }
  if (quotesIn(typed) % 2 === 1) return undefined;
  const [, prefix] = FIELD_START.exec(typed) ?? [];
  return prefix === undefined ? undefined : { kind: "field", from: position - prefix.length };
};

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
