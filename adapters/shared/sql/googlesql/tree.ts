/** The parser's syntax tree as JSON. A node is an object with one key, which is its kind. */
import type { StatementPart } from "../../../../core/domain/sql/statement.ts";

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

export const isObject = (value: Json | undefined): value is JsonObject =>
  value !== null && typeof value === "object" && !Array.isArray(value);

export const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);

/** Returns the kind and body of a node, or undefined for other values. */
export const nodeOf = (value: Json | undefined): { readonly kind: string; readonly body: JsonObject } | undefined => {
  if (!isObject(value)) return undefined;
  const [key, ...more] = Object.keys(value);
  const body = key === undefined ? undefined : value[key];
  return key !== undefined && more.length === 0 && isObject(body) ? { kind: key, body } : undefined;
};

/** Returns true for an unset field: absent, null, false or an empty list. */
export const isNothing = (value: Json | undefined): boolean =>
  value === undefined || value === null || value === false || (Array.isArray(value) && value.length === 0);

export const nameOf = (identifier: Json | undefined): string =>
  isObject(identifier) && typeof identifier["name"] === "string" ? identifier["name"] : "";

/** Converts an offset to a line and column, counted from 1. */
export const placeAt = (text: string, at: number): Pick<StatementPart, "line" | "column"> => {
  const before = text.slice(0, at);
  return { line: before.split("\n").length, column: at - before.lastIndexOf("\n") };
};

/** Returns the position of an identifier. */
export const spanOf = (text: string, identifier: Json | undefined): Pick<StatementPart, "line" | "column"> => {
  const span = isObject(identifier) ? identifier["span"] : undefined;
  return isObject(span) && typeof span["start"] === "number" ? placeAt(text, span["start"]) : {};
};

/** Returns a function call node. */
export const call = (name: string, args: readonly Json[]): Json => ({
  function: {
    name,
    args,
    distinct: false,
    trailing_comments: [],
    use_bracket_syntax: false,
    no_parens: false,
    quoted: false,
  },
});

export const text = (value: string): Json => ({ literal: { literal_type: "string", value } });
export const number = (value: string): Json => ({ literal: { literal_type: "number", value } });
