/**
 * The process that runs one account's statements: an order at a time, told by messages of its parent, without which it
 * ends. Nothing in it is worth stealing and nobody else waits for it, so its parent may kill it at any moment.
 */
import type { StatementSummary } from "../../../core/domain/sql/statement.ts";
import type { SqlFailure } from "../../../core/ports/sql-engine.ts";
import { addEntries, ReadSoFar } from "./catch-up.ts";
import { openDatabase, removeDatabase } from "./database.ts";
import type { LogReader } from "./entries.ts";
import type { SqlNews, SqlOrder } from "./protocol.ts";
import { runStatement } from "./query.ts";
import { setBilling } from "./set-billing.ts";
import { describeStatement } from "./translate.ts";

export interface SqlProcess {
  /** Where the database is; absent: in memory. */
  readonly database: string | undefined;
  /** The log as it stands now; absent where entries come with orders. */
  readonly openLog?: () => LogReader | undefined;
}

const tell = (news: SqlNews): void => void process.send?.(news);

const describe = (statement: string): SqlNews => {
  try {
    const summary: StatementSummary = describeStatement(statement);
    return { kind: "summary", summary };
  } catch (error) {
    const failure: SqlFailure = { kind: "invalid_statement", message: (error as Error).message };
    return { kind: "failure", failure };
  }
};

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
    tell({ kind: "caught_up", entries: await catchUp(order) });
    const failure = await runStatement(connection, order.statement, order, {
      columns: (columns) => tell({ kind: "columns", columns }),
      rows: (rows) => tell({ kind: "rows", rows }),
    });
    return failure === undefined ? { kind: "end" } : { kind: "failure", failure };
  };

  const broken = (error: unknown): void => {
    if (database !== undefined) removeDatabase(database);
    process.send?.({ kind: "broken", message: String(error) } satisfies SqlNews, () => process.exit(1));
  };
  process.on("message", (order: SqlOrder) => {
    if (order.kind === "describe") tell(describe(order.statement));
    else void run(order).then(tell, broken);
  });
  process.on("disconnect", () => process.exit(0));
  tell({ kind: "ready" });
};
