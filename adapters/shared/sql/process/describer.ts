/** Parses statements in one process per account, for engines that run them on a cloud. */
import { sqlLimits } from "../../../../core/domain/accounts/limits.ts";
import type { StatementSummary } from "../../../../core/domain/sql/statement.ts";
import type { SqlScope } from "../../../../core/ports/sql-engine.ts";
import { err, ok, type Result } from "../../../../core/result.ts";
import { packagedScript } from "../../runtime/packaged-script.ts";
import type { Composed } from "../googlesql/compose.ts";
import { askAboutText, type Failed, failedOf, silent } from "./ask.ts";
import { SqlPool } from "./pool.ts";
import type { ShapedColumn, SqlNews, TextOrder, Translated } from "./protocol.ts";

const MAX_PROCESSES = 2;
const IDLE_MS = 60_000;

const plainScript = packagedScript(
  import.meta.url,
  "adapters/shared/sql/process/describer",
  "adapters/shared/sql/process/describer-child",
);

export class Describer {
  readonly #pool: SqlPool;

  /** @param script the child process; a provider that translates statements passes its own */
  constructor(script: URL | null = plainScript) {
    this.#pool = new SqlPool({ script, argsOf: () => [], maxProcesses: MAX_PROCESSES, idleMillis: IDLE_MS });
  }

  async describe(scope: SqlScope, statement: string, signal?: AbortSignal): Promise<Result<StatementSummary, Failed>> {
    const told = await this.#ask(scope, { kind: "describe", statement }, signal);
    return told.andThen((news) => (news.kind === "summary" ? ok(news.summary) : err(silent(news))));
  }

  /** Returns the statement with tables prepended, and the summary without them (`composeStatement`). */
  async compose(
    scope: SqlScope,
    statement: string,
    tables: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<Result<Composed, Failed>> {
    const told = await this.#ask(scope, { kind: "compose", statement, tables }, signal);
    return told.andThen((news) => (news.kind === "composed" ? ok(news) : err(silent(news))));
  }

  /** Returns the statement in the dialect of the child script, with tables prepended. */
  async translate(
    scope: SqlScope,
    statement: string,
    tables: Readonly<Record<string, string>>,
    columns: readonly ShapedColumn[],
    signal?: AbortSignal,
  ): Promise<Result<Translated, Failed>> {
    const told = await this.#ask(scope, { kind: "translate", statement, tables, columns }, signal);
    return told.andThen((news) => (news.kind === "translated" ? ok(news) : err(silent(news))));
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #ask({ owner }: SqlScope, order: TextOrder, signal?: AbortSignal): Promise<Result<SqlNews, Failed>> {
    try {
      const wait = { timeoutMs: sqlLimits.deadline, signal };
      return await this.#pool.with(owner, wait, (child) => askAboutText(child, order, signal));
    } catch (error) {
      return err(failedOf(error));
    }
  }
}
