/** Prints the tables that statements may read. */
import type { SqlSchema } from "../../../core/domain/sql/tables.ts";
import type { Client } from "../../client/client.ts";
import type { Io } from "../terminal/io.ts";
import { safeText } from "../terminal/safe-text.ts";
import { printTable } from "../terminal/table.ts";

export const readSchema = (client: Client, signal: AbortSignal): Promise<SqlSchema> => client.getSqlSchema({ signal });

export const printSchema = (io: Io, { tables }: SqlSchema): Promise<void> =>
  printTable(
    io,
    ["TABLE", "COLUMN", "TYPE", "MEANING"],
    tables.flatMap(({ name: table, columns }) =>
      columns.map(({ name, type, description }) => [table, name, type, description].map((text) => safeText(io, text))),
    ),
  );
