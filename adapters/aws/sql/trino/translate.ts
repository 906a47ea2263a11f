/** Translates GoogleSQL to Trino's SQL by rewriting syntax trees. */
import {
  InvalidStatement,
  parseStatements,
  textOf,
  tokensOf,
  transpiled,
} from "../../../shared/sql/googlesql/parser.ts";
import { rewrite, UnsupportedSyntax } from "../../../shared/sql/googlesql/rewrite.ts";
import { summarize } from "../../../shared/sql/googlesql/summary.ts";
import { parseGoogle, readStatement } from "../../../shared/sql/googlesql/translate.ts";
import type { Json } from "../../../shared/sql/googlesql/tree.ts";
import type { ShapedColumn, Translated } from "../../../shared/sql/process/protocol.ts";
import { expandAliases } from "./aliases.ts";
import { bytesAsHex } from "./bytes.ts";
import { expand } from "./expand.ts";
import { rejectionOf } from "./gate.ts";
import { queryJsonFields } from "./json-fields.ts";
import { shaped } from "./shape.ts";

const translated = (text: string, columns: readonly ShapedColumn[]): string => {
  const google = bytesAsHex(expandAliases(queryJsonFields([...parseGoogle(text)])));
  const middle = textOf(rewrite(google) as readonly Json[], "bigquery");
  const trino = parseStatements(transpiled(middle, "bigquery", "trino"), "trino");
  const [query, ...more] = expand([...trino]) as readonly Json[];
  if (query === undefined || more.length > 0) throw new InvalidStatement("one statement at a time");
  return textOf([shaped(query, columns)], "trino");
};

const checked = (sent: string): string => {
  const rejection = rejectionOf(summarize(sent, parseStatements(sent, "trino"), tokensOf(sent, "trino")));
  if (rejection !== undefined) throw new InvalidStatement(rejection);
  return sent;
};

/**
 * Translates a statement and prepends `tables` as WITH clauses, so that `logs` always means one account's view.
 *
 * @param tables Trino queries by table name
 * @param columns the encoding of each column of the result; an empty list leaves all columns unchanged
 */
export const toTrino = (
  text: string,
  tables: Readonly<Record<string, string>>,
  columns: readonly ShapedColumn[],
): Translated => {
  const { summary, head } = readStatement(text);
  const own = head.names?.find((name) => Object.hasOwn(tables, name));
  if (own !== undefined) throw new InvalidStatement(`WITH ${own} redefines the table '${own}'; choose another name`);
  // The caller rejects this statement because of its summary.
  if (summary.statements !== 1 || summary.root !== "SELECT") return { summary, statement: "" };
  try {
    const sent = checked(translated(text, columns));
    const clauses = Object.entries(tables).map(([name, query]) => `${name} AS (${query})`);
    const rest = /^WITH /i.test(sent) ? `, ${sent.slice("WITH ".length)}` : ` ${sent}`;
    return { summary, statement: `WITH ${clauses.join(", ")}${rest}` };
  } catch (error) {
    if (error instanceof UnsupportedSyntax) throw new InvalidStatement(error.message);
    throw error;
  }
};
