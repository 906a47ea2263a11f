/**
 * The process that runs one account's statements. It receives one request at a time from its parent and ends when the
 * parent disconnects. It stores only data that can be rebuilt, so the parent may kill it at any time.
 */
import { openDatabase, removeDatabase } from "../database.ts";
import { ParserTrapped } from "../googlesql/parser.ts";
import { handleTextRequest } from "../googlesql/text-requests.ts";
import { addEntries, LogSync } from "../tables/catch-up.ts";
import type { LogReader } from "../tables/entries.ts";
import { runStatement } from "../tables/query.ts";
import { setBilling } from "../tables/set-billing.ts";
import { type SqlReply, type SqlRequest, sendToParent } from "./protocol.ts";

export interface SqlProcess {
  /** The path of the database. Undefined for a database in memory. */
  readonly database: string | undefined;
  /** Opens the current log. Absent if entries arrive with requests. */
  readonly openLog?: () => LogReader | undefined;
}

type RunRequest = Extract<SqlRequest, { kind: "run" }>;

export const serveSql = async ({ database, openLog }: SqlProcess): Promise<void> => {
  const connection = await openDatabase(database);
  const readSoFar = await LogSync.of(connection);

  const catchUp = async ({ fresh, billing }: RunRequest): Promise<number> => {
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

  const run = async (request: RunRequest): Promise<SqlReply> => {
    sendToParent({ kind: "caught_up", entries: await catchUp(request) });
    const failure = await runStatement(connection, request.statement, request, {
      columns: (columns) => sendToParent({ kind: "columns", columns }),
      rows: (rows) => sendToParent({ kind: "rows", rows }),
    });
    return failure === undefined ? { kind: "end" } : { kind: "failure", failure };
  };

  const failed = (error: unknown): void => {
    const message = String(error);
    if (error instanceof ParserTrapped) return sendToParent({ kind: "trapped", message });
    if (database !== undefined) removeDatabase(database);
    return sendToParent({ kind: "broken", message });
  };
  process.on("message", (request: SqlRequest) => {
    if (request.kind === "run") void run(request).then(sendToParent, failed);
    else sendToParent(handleTextRequest(request));
  });
  process.on("disconnect", () => process.exit(0));
  sendToParent({ kind: "ready" });
};
