/** GoogleSQL in, the engine's SQL out, by way of the syntax tree and never by text. */
import { generate, parse, tokenize, transpile } from "@polyglot-sql/sdk";
import type { StatementSummary } from "../../../core/domain/sql/statement.ts";
import { NotOffered, rewrite } from "./rewrite.ts";
import { summarise, type Token } from "./summary.ts";
import { isObject, type Json, listOf, nameOf, nodeOf } from "./tree.ts";

/** Why a statement is none, for its author. */
export class NotAStatement extends Error {}

const FROM = "bigquery";

const parsed = (text: string): readonly Json[] => {
  const { success, ast, error } = parse(text, FROM as never);
  if (!success) throw new NotAStatement(String(error ?? "it does not parse").replace(/^Parse error/, "syntax error"));
  return ast as unknown as readonly Json[];
};

const tokensOf = (text: string): readonly Token[] => {
  const { tokens } = tokenize(text, FROM as never);
  return (tokens ?? []).map((token) => ({ text: token.text, start: token.span.start }));
};

export const describeStatement = (text: string): StatementSummary => readStatement(text).summary;

const sqlOf = ({ success, sql, error }: { success: boolean; sql?: readonly string[]; error?: string }): string => {
  const [one, ...more] = sql ?? [];
  if (!success || one === undefined || more.length > 0) throw new NotAStatement(error ?? "it does not parse");
  return one;
};

/** How a statement begins. */
export interface Head {
  /** Where the first token begins, and where it ends. */
  readonly start: number;
  readonly end: number;
  /** The names of its WITH clause, in lower case; undefined where it does not begin with one. */
  readonly names: readonly string[] | undefined;
}

const headOf = (statement: Json | undefined, [first]: readonly Token[]): Head => {
  const clause = nodeOf(statement)?.body["with"];
  if (first === undefined || first.text.toUpperCase() !== "WITH" || !isObject(clause))
    return { start: first?.start ?? 0, end: first?.start ?? 0, names: undefined };
  const names = listOf(clause["ctes"]).map((one) => (isObject(one) ? nameOf(one["alias"]).toLowerCase() : ""));
  return { start: first.start, end: first.start + first.text.length, names };
};

/** A statement's summary and its beginning, of one reading. */
export const readStatement = (text: string): { readonly summary: StatementSummary; readonly head: Head } => {
  const [statements, tokens] = [parsed(text), tokensOf(text)];
  return { summary: summarise(text, statements, tokens), head: headOf(statements[0], tokens) };
};

export const translateStatement = (text: string): string => {
  try {
    const middle = sqlOf(generate(rewrite([...parsed(text)]) as never, FROM as never) as never);
    return sqlOf(transpile(middle, FROM as never, "duckdb" as never) as never);
  } catch (error) {
    if (error instanceof NotOffered) throw new NotAStatement(error.message);
    throw error;
  }
};
