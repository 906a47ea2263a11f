/**
 * A `SqlEngine` with one process per account. Untrusted statements are parsed and run there, never in the control
 * plane.
 */
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { sqlLimits } from "../../../../core/domain/accounts/limits.ts";
import type { SqlColumn, SqlValue } from "../../../../core/domain/sql/answer.ts";
import type { StatementSummary } from "../../../../core/domain/sql/statement.ts";
import { unavailable } from "../../../../core/errors.ts";
import type { SqlEngine, SqlLimits, SqlRows, SqlScope } from "../../../../core/ports/sql-engine.ts";
import type { CallOptions } from "../../../../core/ports/system.ts";
import { err, ok, type Result, ResultAsync } from "../../../../core/result.ts";
import type { BillingSource } from "../tables/billing.ts";
import type { EntryRow } from "../tables/entries.ts";
import { askAboutText, type Failed, failedOf, guard, silent } from "./ask.ts";
import { ChildTrapped, type SqlChild } from "./child.ts";
import { type PoolConfig, SqlPool, type Wait } from "./pool.ts";
import type { SqlNews } from "./protocol.ts";

export interface SqlEngineConfig extends PoolConfig {
  /** Called before each run. Must make all entries logged so far visible to the process. */
  readonly beforeRun: (owner: AccountId) => Promise<void>;
  /** Returns the entries that the process with this id has not received yet. Absent if it reads them itself. */
  readonly fresh?: (owner: AccountId, pid: number | undefined) => readonly EntryRow[];
  readonly billing: BillingSource;
  /** Called after a run whose process could not read its log or its database. */
  readonly onBroken?: (owner: AccountId) => void;
}

/** Returns whether a statement may name `billing`; only then are its rows sent. GoogleSQL permits escapes in names. */
const mayReadBilling = (statement: string): boolean => /billing|\\/i.test(statement);

interface Answer {
  readonly columns: readonly SqlColumn[];
  readonly rows: readonly (readonly SqlValue[])[];
}

interface Told {
  caughtUp: boolean;
  broken: boolean;
}

const gather = async (news: AsyncIterable<SqlNews>, told: Told): Promise<Result<Answer, Failed>> => {
  let columns: readonly SqlColumn[] = [];
  const rows: (readonly SqlValue[])[] = [];
  for await (const one of news)
    if (one.kind === "caught_up") told.caughtUp = true;
    else if (one.kind === "columns") columns = one.columns;
    else if (one.kind === "rows") rows.push(...one.rows);
    else if (one.kind === "failure") return err(one.failure);
    else if (one.kind === "broken") {
      told.broken = true;
      return err(silent(one.message));
    }
  return ok({ columns, rows });
};

async function* each<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}

export class ProcessSqlEngine implements SqlEngine {
  readonly #config: SqlEngineConfig;
  readonly #pool: SqlPool;

  constructor(config: SqlEngineConfig) {
    this.#config = config;
    this.#pool = new SqlPool(config);
  }

  describe(scope: SqlScope, statement: string, { signal }: CallOptions = {}): ResultAsync<StatementSummary, Failed> {
    return this.#lent(scope, { timeoutMs: sqlLimits.deadline, signal }, async (child) => {
      const told = await askAboutText(child, { kind: "describe", statement }, signal);
      return told.andThen((news) => (news.kind === "summary" ? ok(news.summary) : err(silent(news))));
    });
  }

  run(
    scope: SqlScope,
    statement: string,
    limits: SqlLimits,
    { signal }: CallOptions = {},
  ): ResultAsync<SqlRows, Failed> {
    return this.#lent(scope, { timeoutMs: limits.deadline, signal }, async (child) => {
      const { owner } = scope;
      const watch = guard(child, limits.deadline, signal);
      const told: Told = { caughtUp: false, broken: false };
      try {
        await this.#config.beforeRun(owner);
        const fresh = this.#config.fresh?.(owner, child.pid);
        const billing = mayReadBilling(statement) ? await this.#config.billing(owner) : undefined;
        const { rows, bytes } = limits;
        const order = {
          kind: "run",
          statement,
          rows,
          bytes,
          ...(billing === undefined ? {} : { billing }),
          ...(fresh === undefined ? {} : { fresh }),
        } as const;
        const answer = await gather(child.tell(order), told);
        return answer.map(({ columns, rows: all }): SqlRows => ({ columns, rows: each(all) }));
      } catch (error) {
        if (error instanceof ChildTrapped) throw error;
        if (!watch.isOver) return err<SqlRows, Failed>(failedOf(error));
        // The process keeps the batches it has read, so the next call continues after them.
        return err<SqlRows, Failed>(
          told.caughtUp ? { kind: "timeout" } : unavailable("The SQL engine is still reading the log. Try again.", 5),
        );
      } finally {
        watch.end();
        if (told.broken) this.#config.onBroken?.(owner);
      }
    });
  }

  /** Returns the ids of the running processes, for tests of their memory. */
  pids(): Promise<readonly (number | undefined)[]> {
    return this.#pool.pids();
  }

  /** Ends all processes, so that the next query starts with an empty one. */
  restart(): Promise<void> {
    return this.#pool.endAll();
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  #lent<T>(
    { owner }: SqlScope,
    wait: Wait,
    work: (child: SqlChild) => Promise<Result<T, Failed>>,
  ): ResultAsync<T, Failed> {
    return new ResultAsync(
      this.#pool.with(owner, wait, work).catch((error: unknown) => err<T, Failed>(failedOf(error))),
    );
  }
}
