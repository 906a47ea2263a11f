/** GoogleSQL in, Trino's SQL out, by way of the syntax tree and never by text. */
import { NotAStatement, parseStatements, textOf, tokensOf, transpiled } from "../../../shared/sql/googlesql/parser.ts";
import { NotOffered, rewrite } from "../../../shared/sql/googlesql/rewrite.ts";
import { summarise } from "../../../shared/sql/googlesql/summary.ts";
import { parseGoogle, readStatement } from "../../../shared/sql/googlesql/translate.ts";
import type { Json } from "../../../shared/sql/googlesql/tree.ts";
import type { ShapedColumn, Translated } from "../../../shared/sql/process/protocol.ts";
import { expandAliases } from "./aliases.ts";
import { bytesAsHex } from "./bytes.ts";
import { expand } from "./expand.ts";
import { refusedOf } from "./gate.ts";
import { queryJsonFields } from "./json-fields.ts";
import { shaped } from "./shape.ts";

const translated = (text: string, columns: readonly ShapedColumn[]): string => {
  const google = bytesAsHex(expandAliases(queryJsonFields([...parseGoogle(text)])));
  const middle = textOf(rewrite(google) as readonly Json[], "bigquery");
  const trino = parseStatements(transpiled(middle, "bigquery", "trino"), "trino");
  const [query, ...more] = expand([...trino]) as readonly Json[];
  if (query === undefined || more.length > 0) throw new NotAStatement("one statement at a time");
  return textOf([shaped(query, columns)], "trino");
};

const checked = (sent: string): string => {
  const refused = refusedOf(summarise(sent, parseStatements(sent, "trino"), tokensOf(sent, "trino")));
  if (refused !== undefined) throw new NotAStatement(refused);
  return sent;
};

/**
 * @param tables queries in Trino's own words, by the names that they get: they are put before the statement as clauses of
 * its WITH, so that what is called `logs` is one account's by construction
 * @param columns how each column of the answer travels; none: all as they are
 */
export const toTrino = (
  text: string,
  tables: Readonly<Record<string, string>>,
  columns: readonly ShapedColumn[],
): Translated => {
  const { summary, head } = readStatement(text);
  const own = head.names?.find((name) => Object.hasOwn(tables, name));
  if (own !== undefined) throw new NotAStatement(`WITH ${own}: that is the name of a table; call it otherwise`);
  // A statement that the rule refuses is told of by its summary.
  if (summary.statements !== 1 || summary.root !== "SELECT") return { summary, statement: "" };
  try {
    const sent = checked(translated(text, columns));
    const clauses = Object.entries(tables).map(([name, query]) => `${name} AS (${query})`);
    const rest = /^WITH /i.test(sent) ? `, ${sent.slice("WITH ".length)}` : ` ${sent}`;
    return { summary, statement: `WITH ${clauses.join(", ")}${rest}` };
  } catch (error) {
    if (error instanceof NotOffered) throw new NotAStatement(error.message);
    throw error;
  }
};
