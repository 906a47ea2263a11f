/** Calls the statement parser and converts its errors to messages for the statement's author. */
import { generate, parse, tokenize, transpile } from "@polyglot-sql/sdk";
import type { Token } from "./summary.ts";
import type { Json } from "./tree.ts";

export type Dialect = "bigquery" | "duckdb" | "trino";

/** Thrown for text that is not a valid statement. The message is for the statement's author. */
export class InvalidStatement extends Error {}

/**
 * Thrown if the parser's WebAssembly trapped because memory or stack ran out. The parser may then fail for every
 * statement, so its process must end.
 */
export class ParserTrapped extends Error {}

/**
 * Matches the end of an error such as `Parse error at line 1, column 521: E_GUARD_NESTING_DEPTH_EXCEEDED: value 513
 * exceeds configured limit 512`.
 */
const GUARD = /E_GUARD_([A-Z_]+)_EXCEEDED: value \d+ exceeds configured limit (\d+)/;

const guarded = (error: string): string | undefined => {
  const [, name = "", limit] = GUARD.exec(error) ?? [];
  if (limit === undefined) return undefined;
  const place = /line [1-9]\d*, column [1-9]\d*/.exec(error)?.[0];
  const what = name.includes("DEPTH")
    ? `it is nested deeper than the limit of ${limit} levels; each operator of a chain such as a + b + c is a level`
    : `it is longer than the limit of ${limit} parts`;
  return place === undefined ? what : `${what} (${place})`;
};

const failure = (error: unknown): Error => {
  const text = String(error ?? "it does not parse");
  if (text.startsWith("WASM ")) return new ParserTrapped(text);
  return new InvalidStatement(guarded(text) ?? text.replace(/^Parse error/, "syntax error"));
};

export const parseStatements = (text: string, dialect: Dialect): readonly Json[] => {
  const { success, ast, error } = parse(text, dialect as never);
  if (!success) throw failure(error);
  return ast as unknown as readonly Json[];
};

export const tokensOf = (text: string, dialect: Dialect): readonly Token[] => {
  const { success, tokens, error } = tokenize(text, dialect as never);
  if (!success) throw failure(error);
  return (tokens ?? []).map((token) => ({ text: token.text, start: token.span.start }));
};

const oneOf = (answer: {
  success: boolean;
  sql?: readonly string[] | undefined;
  error?: string | undefined;
}): string => {
  const [one, ...more] = answer.sql ?? [];
  if (!answer.success || one === undefined || more.length > 0) throw failure(answer.error);
  return one;
};

/** Generates the text of a tree that contains one statement. */
export const textOf = (statements: readonly Json[], dialect: Dialect): string =>
  oneOf(generate(statements as never, dialect as never) as never);

export const transpiled = (text: string, from: Dialect, to: Dialect): string =>
  oneOf(transpile(text, from as never, to as never) as never);
