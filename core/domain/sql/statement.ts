/**
 * Which statements may run: one SELECT that reads `logs` and `billing`, with functions that are known to mean the same on
 * every engine. Judged over a summary of the syntax tree, which an engine's own parser makes.
 */
import { type Issue, issue } from "../wire/issue.ts";
import { sqlFunctionNames } from "./functions.ts";
import { sqlTableNames } from "./tables.ts";

/** A name in a statement, and where it stands; both counted from 1, absent where the parser cannot tell. */
export interface StatementPart {
  readonly name: string;
  readonly line?: number;
  readonly column?: number;
}

export interface StatementSummary {
  /** How many statements the text has. */
  readonly statements: number;
  /** What the first one is: `SELECT` for a query of any form, else its first word. */
  readonly root: string;
  /** Tables that no WITH clause of the statement stands for, with every part of their names. */
  readonly tables: readonly StatementPart[];
  /** By their names in GoogleSQL, upper case. */
  readonly functions: readonly StatementPart[];
  /** Functions where a table is expected; UNNEST is none of them. */
  readonly tableFunctions: readonly StatementPart[];
  /** Whatever else the tree has that is no plain part of a query, in the words of the language. */
  readonly others: readonly StatementPart[];
  /** Columns of the answer that have no name: their places, counted from 1. */
  readonly unnamed: readonly number[];
}

const place = ({ line, column }: StatementPart): string =>
  line === undefined || column === undefined ? "" : ` at line ${line}, column ${column}`;

const wrong = (message: string): Issue => issue(["query"], message, "value_error");

/** One of a kind is enough to be told of, and a statement may have thousands. */
const MOST = 20;

const once = (parts: readonly StatementPart[]): readonly StatementPart[] =>
  [...new Map(parts.map((part) => [part.name, part])).values()].slice(0, MOST);

/** Everything that keeps a statement from running; none where it may. */
export const statementProblems = (summary: StatementSummary): readonly Issue[] => {
  if (summary.statements !== 1)
    return [wrong(`one statement at a time; this text has ${summary.statements === 0 ? "none" : summary.statements}`)];
  if (summary.root !== "SELECT") return [wrong(`only SELECT (and WITH ... SELECT) may run; this is ${summary.root}`)];
  const tables = summary.tables.filter(({ name }) => !sqlTableNames.has(name.toLowerCase()));
  const functions = summary.functions.filter(({ name }) => !sqlFunctionNames.has(name.toUpperCase()));
  return [
    ...once(tables).map((part) => wrong(`there is no table '${part.name}'${place(part)}; there are logs and billing`)),
    ...once(functions).map((part) => wrong(`the function ${part.name}${place(part)} is not offered; see docs/sql.md`)),
    ...once(summary.tableFunctions).map((part) =>
      wrong(`the table function ${part.name}${place(part)} is not offered`),
    ),
    ...once(summary.others).map((part) => wrong(`${part.name}${place(part)} is not offered`)),
    ...summary.unnamed.map((n) => wrong(`column ${n} of the answer has no name; give it one: ... AS name`)),
  ];
};

/** Rows are objects, so every column needs a name of its own. */
export const columnProblems = (names: readonly string[]): readonly Issue[] => {
  const seen = new Set<string>();
  return names.flatMap((name, index) => {
    const key = name.toLowerCase();
    const double = seen.has(key);
    seen.add(key);
    if (name === "") return [wrong(`column ${index + 1} of the answer has no name; give it one: ... AS name`)];
    return double ? [wrong(`two columns of the answer are called '${name}'; name one otherwise: ... AS name`)] : [];
  });
};
