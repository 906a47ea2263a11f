/** Statements for tests of SQL, and their results on the engine alone. */
import type { DuckDBConnection } from "@duckdb/node-api";
import { runStatement } from "../../../adapters/shared/sql/tables/query.ts";
import type { SqlValue } from "../../../core/domain/sql/answer.ts";
import { exampleTime, type SqlFunction } from "../../../core/domain/sql/functions.ts";

/** A statement that returns a function's example as `v`. */
export const exampleStatement = ({ example }: SqlFunction): string =>
  `SELECT ${example.replaceAll(/(?<![\w'])T(?![\w'])/g, exampleTime)} AS v`;

/** The rows of a result, or its error. */
export const rowsOf = async (
  connection: DuckDBConnection,
  statement: string,
  limits: { readonly rows: number; readonly bytes: number },
) => {
  const rows: (readonly SqlValue[])[] = [];
  const receiver = { columns: () => {}, rows: (some: readonly (readonly SqlValue[])[]) => rows.push(...some) };
  const failure = await runStatement(connection, statement, limits, receiver);
  return { rows, failure };
};
