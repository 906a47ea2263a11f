/** The result of a SQL statement. */
import { z } from "zod";

/** A JSON value. Integers beyond 2^53, NUMERIC, NaN and infinities are text; BYTES are base64. */
export type SqlValue = z.core.util.JSONType;

/** A column of a result. */
export interface SqlColumn {
  readonly name: string;
  /** The GoogleSQL type: `INT64`, `ARRAY<STRING>`, `STRUCT<a INT64>`. */
  readonly type: string;
}

/** The result of a statement. `rowObjects` converts it to objects. */
export interface SqlResponse {
  readonly columns: readonly SqlColumn[];
  /** Values in the order of the columns. */
  readonly rows: readonly (readonly SqlValue[])[];
}

export const sqlRowsSchema = z.array(z.record(z.string(), z.unknown())).meta({
  description: "Rows as objects. The header `X-Columns` has the names and types of the columns.",
});

/** Converts rows to objects. Uses `Object.fromEntries` because a column may be called `__proto__`. */
export const rowObjects = ({ columns, rows }: SqlResponse): Record<string, SqlValue>[] =>
  rows.map((row) => Object.fromEntries(columns.map(({ name }, index) => [name, row[index] as SqlValue])));
