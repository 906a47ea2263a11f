/** Prints a statement's result as a table, JSON or CSV. */
import type { SqlColumn } from "../../../core/domain/sql/answer.ts";
import { csvText } from "../../../core/domain/sql/csv.ts";
import { indentLines } from "../terminal/control-characters.ts";
import { type Io, printJson, say } from "../terminal/io.ts";
import { safeText } from "../terminal/safe-text.ts";
import { printTable } from "../terminal/table.ts";

export const sqlFormats = ["table", "json", "csv"] as const;
export type SqlFormat = (typeof sqlFormats)[number];

export interface SqlTable {
  readonly columns: readonly SqlColumn[];
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

const shown = (io: Io, value: unknown): string => {
  const text =
    value === null || value === undefined ? "NULL" : typeof value === "object" ? JSON.stringify(value) : String(value);
  return indentLines(safeText(io, text), "");
};

export const printRows = async (io: Io, format: SqlFormat, { columns, rows }: SqlTable): Promise<void> => {
  const names = columns.map(({ name }) => name);
  if (format === "json") printJson(io, rows);
  else if (format === "csv") {
    io.stdout.write(
      csvText(
        names,
        rows.map((row) => names.map((name) => row[name])),
      ),
    );
  } else if (rows.length > 0)
    await printTable(
      io,
      names.map((name) => safeText(io, name)),
      rows.map((row) => names.map((name) => shown(io, row[name]))),
    );
  if (rows.length === 0 || format === "table") say(io, `(${rows.length} ${rows.length === 1 ? "row" : "rows"})`);
};
