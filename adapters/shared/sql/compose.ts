/**
 * A statement with the tables that it reads put before it, as clauses of its WITH. For engines that hold every account's
 * rows: what is called `logs` is then one account's by construction.
 */
import { headOf, NotAStatement } from "./translate.ts";

/**
 * The statement's own text stays where it was but for one line more above it, so that an engine's positions can be told
 * to its author.
 * @param tables queries without line breaks, by the names that they get
 */
export const composeStatement = (text: string, tables: Readonly<Record<string, string>>): string => {
  const { start, end, names } = headOf(text);
  const own = names?.find((name) => Object.hasOwn(tables, name));
  if (own !== undefined) throw new NotAStatement(`WITH ${own}: that is the name of a table; call it otherwise`);
  const clauses = Object.entries(tables).map(([name, query]) => `${name} AS (${query})`);
  const rest = `${text.slice(0, start)}${" ".repeat(end - start)}${text.slice(end)}`;
  return `WITH ${clauses.join(", ")}${names === undefined ? "" : ","}\n${rest}`;
};
