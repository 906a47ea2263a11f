/**
 * Decides which statements may run: a single SELECT on `logs` and `billing`, with functions that behave the same on all
 * engines. The rules check a summary of the syntax tree that the engine's parser produces.
 */
import { type Issue, issue } from "../wire/issue.ts";
import { sqlFunctionNames } from "./functions.ts";
import { sqlTableNames } from "./tables.ts";

/** A name in a statement. Line and column are counted from 1 and are absent if the parser does not report them. */
export interface StatementPart {
  readonly name: string;
  readonly line?: number;
  readonly column?: number;
}

/** The parts of a statement that determine whether it may run. */
export interface StatementSummary {
  /** The number of statements in the text. */
  readonly statements: number;
  /** The kind of the first statement: `SELECT` for any form of query, otherwise its first word. */
  readonly root: string;
  /** Tables that no WITH clause of the statement defines, with their full names, such as `main.logs`. */
  readonly tables: readonly StatementPart[];
  /** GoogleSQL names of functions, in upper case. */
  readonly functions: readonly StatementPart[];
  /** Functions in the position of a table, except UNNEST. */
  readonly tableFunctions: readonly StatementPart[];
  /** All other syntax that statements must not use, under its GoogleSQL name. */
  readonly others: readonly StatementPart[];
  /** Positions of result columns without a name, counted from 1. */
  readonly unnamed: readonly number[];
}

const place = ({ line, column }: StatementPart): string =>
  line === undefined || column === undefined ? "" : ` at line ${line}, column ${column}`;

const wrong = (message: string): Issue => issue(["query"], message, "value_error");

/** Maximum number of distinct names to report per kind, because a statement may contain thousands. */
const MAX_NAMES = 20;

const distinct = (parts: readonly StatementPart[]): readonly StatementPart[] =>
  [...new Map(parts.map((part) => [part.name, part])).values()].slice(0, MAX_NAMES);

/** Returns the reasons why a statement must not run, or an empty list if it may. */
export const statementProblems = (summary: StatementSummary): readonly Issue[] => {
  if (summary.statements !== 1)
    return [wrong(`must be exactly one statement; got ${summary.statements === 0 ? "none" : summary.statements}`)];
  if (summary.root !== "SELECT") return [wrong(`only SELECT (or WITH ... SELECT) is allowed; this is ${summary.root}`)];
  const tables = summary.tables.filter(({ name }) => !sqlTableNames.has(name.toLowerCase()));
  const functions = summary.functions.filter(({ name }) => !sqlFunctionNames.has(name.toUpperCase()));
  return [
    ...distinct(tables).map((part) =>
      wrong(`unknown table '${part.name}'${place(part)}; the tables are logs and billing`),
    ),
    ...distinct(functions).map((part) =>
      wrong(`the function ${part.name}${place(part)} is not supported; see docs/sql.md`),
    ),
    ...distinct(summary.tableFunctions).map((part) =>
      wrong(`the table function ${part.name}${place(part)} is not supported`),
    ),
    ...distinct(summary.others).map((part) => wrong(`${part.name}${place(part)} is not supported`)),
    ...summary.unnamed.map((n) => wrong(`column ${n} of the result has no name; add one with ... AS name`)),
  ];
};

/** Returns issues for unnamed and duplicate columns. Rows are objects, so column names must be unique. */
export const columnProblems = (names: readonly string[]): readonly Issue[] => {
  const seen = new Set<string>();
  return names.flatMap((name, index) => {
    const key = name.toLowerCase();
    const double = seen.has(key);
    seen.add(key);
    if (name === "") return [wrong(`column ${index + 1} of the result has no name; add one with ... AS name`)];
    return double ? [wrong(`two columns of the result are named '${name}'; rename one with ... AS name`)] : [];
  });
};
