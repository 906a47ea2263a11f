/** Translates a statement, runs it, and passes its rows to a receiver, within limits. */
import type { DuckDBConnection } from "@duckdb/node-api";
import type { SqlColumn, SqlValue } from "../../../../core/domain/sql/answer.ts";
import { statementProblems } from "../../../../core/domain/sql/statement.ts";
import type { SqlFailure, SqlLimits } from "../../../../core/ports/sql-engine.ts";
import { failureOf, isBroken } from "../errors.ts";
import { rejectionReason } from "../googlesql/gate.ts";
import { InvalidStatement, ParserTrapped } from "../googlesql/parser.ts";
import { describeStatement, translateStatement } from "../googlesql/translate.ts";
import { sqlValueOf, typeName } from "../values.ts";

type Limits = Pick<SqlLimits, "rows" | "bytes">;

export interface Receiver {
  columns(columns: readonly SqlColumn[]): void;
  rows(rows: readonly (readonly SqlValue[])[]): void;
}

/** Returns DuckDB's SQL for a statement. Throws `InvalidStatement`. */
const checkedSql = async (connection: DuckDBConnection, statement: string): Promise<string> => {
  const [problem] = statementProblems(describeStatement(statement));
  if (problem !== undefined) throw new InvalidStatement(problem.message);
  const sql = translateStatement(statement);
  const tree = await connection.runAndReadAll("SELECT json_serialize_sql($1::VARCHAR)", [sql]);
  const refused = rejectionReason(String(tree.getRows()[0]?.[0]));
  if (refused !== undefined) throw new InvalidStatement(refused);
  return sql;
};

const stream = async (
  connection: DuckDBConnection,
  sql: string,
  limits: Limits,
  receiver: Receiver,
): Promise<SqlFailure | undefined> => {
  const result = await connection.stream(sql);
  const types = result.columnTypes();
  receiver.columns(result.columnNames().map((name, n) => ({ name, type: typeName(types[n] as never) })));
  let [rows, bytes] = [0, 0];
  for (;;) {
    const chunk = await result.fetchChunk();
    if (chunk === null || chunk.rowCount === 0) return undefined;
    rows += chunk.rowCount;
    if (rows > limits.rows) return { kind: "too_many_rows" };
    const values = chunk.getRows().map((row) => row.map((value, n) => sqlValueOf(value, types[n] as never)));
    bytes += Buffer.byteLength(JSON.stringify(values));
    if (bytes > limits.bytes) return { kind: "too_large" };
    receiver.rows(values);
  }
};

/** Runs a statement. Throws `ParserTrapped`, or DuckDB's error if the database is broken. */
export const runStatement = async (
  connection: DuckDBConnection,
  statement: string,
  limits: Limits,
  receiver: Receiver,
): Promise<SqlFailure | undefined> => {
  try {
    return await stream(connection, await checkedSql(connection, statement), limits, receiver);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof InvalidStatement) return { kind: "invalid_statement", message };
    if (error instanceof ParserTrapped || isBroken(message)) throw error;
    return failureOf(message);
  }
};
