/** Reads statements in a process an account, for an engine that runs them elsewhere. */
import type { StatementSummary } from "../../../core/domain/sql/statement.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { SqlFailure, SqlScope } from "../../../core/ports/sql-engine.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import type { Composed } from "./compose.ts";
import { DESCRIBE_MS, failedOf, guard } from "./engine.ts";
import { SqlPool } from "./pool.ts";
import type { SqlNews, SqlOrder } from "./protocol.ts";

type Failed = SqlFailure | Unavailable;
type TextOrder = Exclude<SqlOrder, { kind: "run" }>;

const MOST = 2;
const IDLE_MS = 60_000;

const script = new URL(`./describing${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

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

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #ask({ owner }: SqlScope, order: TextOrder, signal?: AbortSignal): Promise<Result<SqlNews, Failed>> {
    try {
      return await this.#pool.with(owner, async (child) => {
        const watch = guard(child, DESCRIBE_MS, signal);
        try {
          for await (const news of child.tell(order)) return news.kind === "failure" ? err(news.failure) : ok(news);
          return err(silent());
        } catch (error) {
          return err<SqlNews, Failed>(watch.isOver ? { kind: "timeout" } : failedOf(error));
        } finally {
          watch.end();
        }
      });
    } catch (error) {
      return err(failedOf(error));
    }
  }
}

const silent = (cause?: unknown): Unavailable => unavailable("The SQL engine does not answer; try again.", 2, cause);
