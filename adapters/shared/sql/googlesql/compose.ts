/**
 * A statement with the tables that it reads put before it, as clauses of its WITH. For engines that hold every account's
 * rows: what is called `logs` is then one account's by construction.
 */
import type { StatementSummary } from "../../../../core/domain/sql/statement.ts";
import { NotAStatement } from "./parser.ts";
import { readStatement } from "./translate.ts";

export interface Composed {
  /** Of the statement as its author wrote it. */
  readonly summary: StatementSummary;
  readonly statement: string;
}

/**
 * The statement's own text stays where it was but for one line more above it, so that an engine's positions can be told
 * to its author.
 * @param tables queries without line breaks, by the names that they get
 */
export const composeStatement = (text: string, tables: Readonly<Record<string, string>>): Composed => {
  const { summary, head } = readStatement(text);
  const { start, end, names } = head;
  const own = names?.find((name) => Object.hasOwn(tables, name));
  if (own !== undefined) throw new NotAStatement(`WITH ${own}: that is the name of a table; call it otherwise`);
  const clauses = Object.entries(tables).map(([name, query]) => `${name} AS (${query})`);
  const rest = `${text.slice(0, start)}${" ".repeat(end - start)}${text.slice(end)}`;
  return { summary, statement: `WITH ${clauses.join(", ")}${names === undefined ? "" : ","}\n${rest}` };
};
