/** Reads statements in a process an account, for an engine that runs them elsewhere. */
import { sqlLimits } from "../../../core/domain/limits.ts";
import type { StatementSummary } from "../../../core/domain/sql/statement.ts";
import type { SqlScope } from "../../../core/ports/sql-engine.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { packagedScript } from "../packaged-script.ts";
import { askAboutText, type Failed, failedOf, silent } from "./asking.ts";
import type { Composed } from "./compose.ts";
import { SqlPool } from "./pool.ts";
import type { SqlNews, TextOrder } from "./protocol.ts";
import type { ShapedColumn } from "./trino/shape.ts";
import type { Translated } from "./trino/translate.ts";

const MOST = 2;
const IDLE_MS = 60_000;

const script = packagedScript(import.meta.url, "adapters/shared/sql/describer", "adapters/shared/sql/describing");

export class Describer {
  readonly #pool = new SqlPool({ script, argsOf: () => [], most: MOST, idleMillis: IDLE_MS });

  async describe(scope: SqlScope, statement: string, signal?: AbortSignal): Promise<Result<StatementSummary, Failed>> {
    const told = await this.#ask(scope, { kind: "describe", statement }, signal);
    return told.andThen((news) => (news.kind === "summary" ? ok(news.summary) : err(silent(news))));
  }

  /** The statement with tables before it, and what it is made of without them (`composeStatement`). */
  async compose(
    scope: SqlScope,
    statement: string,
    tables: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<Result<Composed, Failed>> {
    const told = await this.#ask(scope, { kind: "compose", statement, tables }, signal);
    return told.andThen((news) => (news.kind === "composed" ? ok(news) : err(silent(news))));
  }

  /** The statement in Trino's words, with tables before it (`toTrino`). */
  async toTrino(
    scope: SqlScope,
    statement: string,
    tables: Readonly<Record<string, string>>,
    columns: readonly ShapedColumn[],
    signal?: AbortSignal,
  ): Promise<Result<Translated, Failed>> {
    const told = await this.#ask(scope, { kind: "trino", statement, tables, columns }, signal);
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
