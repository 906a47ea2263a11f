/**
 * The process that runs one account's statements. It receives one order at a time from its parent and ends when the
 * parent disconnects. It holds no secrets, so the parent may kill it at any time.
 */

import { openDatabase, removeDatabase } from "../database.ts";
import { aboutText } from "../googlesql/about-text.ts";
import { ParserTrapped } from "../googlesql/parser.ts";
import { addEntries, ReadSoFar } from "../tables/catch-up.ts";
import type { LogReader } from "../tables/entries.ts";
import { runStatement } from "../tables/query.ts";
import { setBilling } from "../tables/set-billing.ts";
import { type SqlNews, type SqlOrder, tellParent } from "./protocol.ts";

export interface SqlProcess {
  /** The path of the database. Absent: in memory. */
  readonly database: string | undefined;
  /** Opens the current log. Absent if entries arrive with orders. */
  readonly openLog?: () => LogReader | undefined;
}

type RunOrder = Extract<SqlOrder, { kind: "run" }>;

export const serveSql = async ({ database, openLog }: SqlProcess): Promise<void> => {
  const connection = await openDatabase(database);
  const readSoFar = await ReadSoFar.of(connection);

  const catchUp = async ({ fresh, billing }: RunOrder): Promise<number> => {
    using log = openLog?.();
    const added =
      fresh === undefined
        ? log === undefined
          ? 0
          : await readSoFar.catchUp(log)
        : await addEntries(connection, fresh);
    if (billing !== undefined) await setBilling(connection, billing);
    return added;
  };

  const run = async (order: RunOrder): Promise<SqlNews> => {
    tellParent({ kind: "caught_up", entries: await catchUp(order) });
    const failure = await runStatement(connection, order.statement, order, {
      columns: (columns) => tellParent({ kind: "columns", columns }),
      rows: (rows) => tellParent({ kind: "rows", rows }),
    });
    return failure === undefined ? { kind: "end" } : { kind: "failure", failure };
  };

  const failed = (error: unknown): void => {
    const message = String(error);
    if (error instanceof ParserTrapped) return tellParent({ kind: "trapped", message });
    if (database !== undefined) removeDatabase(database);
    return tellParent({ kind: "broken", message });
  };
  process.on("message", (order: SqlOrder) => {
    if (order.kind === "run") void run(order).then(tellParent, failed);
    else tellParent(aboutText(order));
  });
  process.on("disconnect", () => process.exit(0));
  tellParent({ kind: "ready" });
};
