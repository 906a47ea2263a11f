/**
 * Defines the tables of a statement at the beginning of its WITH clause, for engines that store the rows of all
 * accounts. The definitions select the rows of one account, so the statement cannot read the rows of another.
 */
import type { Translated } from "../process/protocol.ts";
import { InvalidStatement } from "./parser.ts";
import { readStatement } from "./translate.ts";

/**
 * Moves the statement's text down by exactly one line, so that positions in DuckDB's errors can be converted.
 *
 * @param tables queries without line breaks, by table name
 */
export const composeStatement = (text: string, tables: Readonly<Record<string, string>>): Translated => {
  const { summary, head } = readStatement(text);
  const { start, end, names } = head;
  const own = names?.find((name) => Object.hasOwn(tables, name));
  if (own !== undefined) throw new InvalidStatement(`WITH ${own} redefines the table '${own}'; choose another name`);
  const clauses = Object.entries(tables).map(([name, query]) => `${name} AS (${query})`);
  const rest = `${text.slice(0, start)}${" ".repeat(end - start)}${text.slice(end)}`;
  return { summary, statement: `WITH ${clauses.join(", ")}${names === undefined ? "" : ","}\n${rest}` };
};
