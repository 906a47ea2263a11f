/** What a statement answers. */
import { z } from "zod";

/** Values as JSON has them: integers beyond 2^53, NUMERIC and what is not finite as text, BYTES as base64. */
export type SqlValue = z.core.util.JSONType;

export interface SqlColumn {
  readonly name: string;
  /** Of GoogleSQL: `INT64`, `ARRAY<STRING>`, `STRUCT<a INT64>`. */
  readonly type: string;
}

export interface SqlAnswer {
  readonly columns: readonly SqlColumn[];
  /** Values in the order of the columns. */
  readonly rows: readonly (readonly SqlValue[])[];
}

export const sqlRowsSchema = z.array(z.record(z.string(), z.unknown())).meta({
  description: "Rows as objects; header X-Columns has the names and types of their columns.",
});

/** Rows as objects. A column may be called `__proto__`, too. */
export const rowObjects = ({ columns, rows }: SqlAnswer): Record<string, SqlValue>[] =>
  rows.map((row) => Object.fromEntries(columns.map(({ name }, index) => [name, row[index] as SqlValue])));
