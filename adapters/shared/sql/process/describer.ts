/** Parses statements in one process per account, for engines that run them on a cloud. */
import type { StatementSummary } from "../../../../core/domain/sql/statement.ts";
import type { SqlScope } from "../../../../core/ports/sql-engine.ts";
import type { ResultAsync } from "../../../../core/result.ts";
import { packagedScript } from "../../runtime/packaged-script.ts";
import type { Failed } from "../remote.ts";
import { sendTextRequest } from "./ask.ts";
import { SqlPool } from "./pool.ts";
import type { ShapedColumn, Translated } from "./protocol.ts";

const MAX_PROCESSES = 2;
const IDLE_MS = 60_000;

const plainScript = packagedScript(
  import.meta.url,
  "adapters/shared/sql/process/describer",
  "adapters/shared/sql/process/describer-child",
);

export class Describer {
  readonly #pool: SqlPool;

  /** @param script the script of the processes; a provider that translates statements passes its own */
  constructor(script: URL | null = plainScript) {
    this.#pool = new SqlPool({ script, argsOf: () => [], maxProcesses: MAX_PROCESSES, idleMillis: IDLE_MS });
  }

  describe(scope: SqlScope, statement: string, signal?: AbortSignal): ResultAsync<StatementSummary, Failed> {
    return sendTextRequest(this.#pool, scope, { kind: "describe", statement }, signal).map(({ summary }) => summary);
  }

  /** Returns the statement in the dialect of the child script, with tables prepended. */
  translate(
    scope: SqlScope,
    statement: string,
    tables: Readonly<Record<string, string>>,
    columns: readonly ShapedColumn[],
    signal?: AbortSignal,
  ): ResultAsync<Translated, Failed> {
    return sendTextRequest(this.#pool, scope, { kind: "translate", statement, tables, columns }, signal);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}
