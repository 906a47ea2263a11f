/** Translates GoogleSQL to DuckDB's SQL: rewrites the syntax tree, and then generates DuckDB's dialect. */
import { plainLiterals } from "../../../../core/domain/sql/literals.ts";
import type { StatementSummary } from "../../../../core/domain/sql/statement.ts";
import { rejectJsonComparisons } from "./json-comparisons.ts";
import { InvalidStatement, parseStatements, textOf, tokensOf, transpiled } from "./parser.ts";
import { rewrite, UnsupportedSyntax } from "./rewrite.ts";
import { summarize, type Token } from "./summary.ts";
import { isObject, type Json, listOf, nameOf, nodeOf, placeAt } from "./tree.ts";

/** Rewrites the statement's literals so that the parser reads them as GoogleSQL does. */
const plainText = (text: string): string => {
  const plain = plainLiterals(text);
  if (typeof plain === "string") return plain;
  const { line, column } = placeAt(text, plain.at);
  throw new InvalidStatement(`syntax error at line ${line}, column ${column}: ${plain.message}`);
};

/** Parses the statements of a GoogleSQL text. */
export const parseGoogle = (text: string): readonly Json[] => {
  const statements = parseStatements(plainText(text), "bigquery");
  rejectJsonComparisons(statements);
  return statements;
};

export const describeStatement = (text: string): StatementSummary => readStatement(text).summary;

/** The beginning of a statement. */
export interface Head {
  /** The offset of the first token. */
  readonly start: number;
  readonly end: number;
  /** The names in the WITH clause, in lower case; undefined without a WITH clause. */
  readonly names: readonly string[] | undefined;
}

const headOf = (statement: Json | undefined, [first]: readonly Token[]): Head => {
  const clause = nodeOf(statement)?.body["with"];
  if (first === undefined || first.text.toUpperCase() !== "WITH" || !isObject(clause))
    return { start: first?.start ?? 0, end: first?.start ?? 0, names: undefined };
  const names = listOf(clause["ctes"]).map((one) => (isObject(one) ? nameOf(one["alias"]).toLowerCase() : ""));
  return { start: first.start, end: first.start + first.text.length, names };
};

/** Returns a statement's summary and beginning from a single parse. */
export const readStatement = (text: string): { readonly summary: StatementSummary; readonly head: Head } => {
  const [statements, tokens] = [parseGoogle(text), tokensOf(plainText(text), "bigquery")];
  return { summary: summarize(text, statements, tokens), head: headOf(statements[0], tokens) };
};

export const translateStatement = (text: string): string => {
  try {
    const middle = textOf(rewrite([...parseGoogle(text)]) as readonly Json[], "bigquery");
    return transpiled(middle, "bigquery", "duckdb");
  } catch (error) {
    if (error instanceof UnsupportedSyntax) throw new InvalidStatement(error.message);
    throw error;
  }
};
