/** GoogleSQL in, the engine's SQL out, by way of the syntax tree and never by text. */
import { plainLiterals } from "../../../../core/domain/sql/literals.ts";
import type { StatementSummary } from "../../../../core/domain/sql/statement.ts";
import { refuseJsonComparisons } from "./json-comparisons.ts";
import { NotAStatement, parseStatements, textOf, tokensOf, transpiled } from "./parser.ts";
import { NotOffered, rewrite } from "./rewrite.ts";
import { summarise, type Token } from "./summary.ts";
import { isObject, type Json, listOf, nameOf, nodeOf, placeAt } from "./tree.ts";

/** The statement with literals that the parser reads as GoogleSQL means them. */
const plainText = (text: string): string => {
  const plain = plainLiterals(text);
  if (typeof plain === "string") return plain;
  const { line, column } = placeAt(text, plain.at);
  throw new NotAStatement(`syntax error at line ${line}, column ${column}: ${plain.message}`);
};

/** The statements of a text in GoogleSQL. */
export const parseGoogle = (text: string): readonly Json[] => {
  const statements = parseStatements(plainText(text), "bigquery");
  refuseJsonComparisons(statements);
  return statements;
};

export const describeStatement = (text: string): StatementSummary => readStatement(text).summary;

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
  const [statements, tokens] = [parseGoogle(text), tokensOf(plainText(text), "bigquery")];
  return { summary: summarise(text, statements, tokens), head: headOf(statements[0], tokens) };
};

export const translateStatement = (text: string): string => {
  try {
    const middle = textOf(rewrite([...parseGoogle(text)]) as readonly Json[], "bigquery");
    return transpiled(middle, "bigquery", "duckdb");
  } catch (error) {
    if (error instanceof NotOffered) throw new NotAStatement(error.message);
    throw error;
  }
};
