/** `SqlEngine` by a process an account: what is anybody's text is read and run there, never in the control plane. */
import type { AccountId } from "../../../core/domain/account.ts";
import type { SqlColumn, SqlValue } from "../../../core/domain/sql/answer.ts";
import type { StatementSummary } from "../../../core/domain/sql/statement.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { SqlEngine, SqlFailure, SqlLimits, SqlRows, SqlScope } from "../../../core/ports/sql-engine.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type Result, ResultAsync } from "../../../core/result.ts";
import type { BillingSource } from "./billing.ts";
import type { EntryRow } from "./entries.ts";
import { Busy, type PoolConfig, SqlPool } from "./pool.ts";
import { ProcessEnded, type SqlChild } from "./process.ts";
import type { SqlNews } from "./protocol.ts";

export interface SqlEngineConfig extends PoolConfig {
  /** Called before each run: what was logged up to now must be where the process finds it. */
  readonly beforeRun: (owner: AccountId) => Promise<void>;
  /** Entries that the process of this id has not been told of yet; absent where it reads them itself. */
  readonly fresh?: (owner: AccountId, pid: number | undefined) => readonly EntryRow[];
  readonly billing: BillingSource;
}

type Failed = SqlFailure | Unavailable;

/** Parsing is quick; what takes longer was made to. */
export const DESCRIBE_MS = 10_000;

const outOfMemory: SqlFailure = {
  kind: "failed",
  message: "the query needs more memory than it may have; look at less, or sum up earlier",
};

export const failedOf = (error: unknown): Failed => {
  if (error instanceof Busy) return unavailable("The SQL engine is busy; try again.", 2, error);
  if (error instanceof ProcessEnded && error.memory) return outOfMemory;
  return unavailable("The SQL engine does not answer; try again.", 2, error);
};

/** Billing rows are sent only to a statement that could name them; in GoogleSQL a name may be written with escapes. */
const mayReadBilling = (statement: string): boolean => /billing|\\/i.test(statement);

/** Kills the process where its time is over or nobody waits any more; `over` tells which it was. */
export const guard = (child: SqlChild, millis: number, signal: AbortSignal | undefined) => {
  let isOver = false;
  const timer = setTimeout(() => {
    isOver = true;
    child.kill();
  }, millis);
  const abort = () => child.kill();
  signal?.addEventListener("abort", abort);
  if (signal?.aborted === true) abort();
  return {
    get isOver() {
      return isOver;
    },
    end: () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    },
  };
};

interface Answer {
  readonly columns: readonly SqlColumn[];
  readonly rows: readonly (readonly SqlValue[])[];
}

const gather = async (news: AsyncIterable<SqlNews>, told: { caughtUp: boolean }): Promise<Result<Answer, Failed>> => {
  let columns: readonly SqlColumn[] = [];
  const rows: (readonly SqlValue[])[] = [];
  for await (const one of news)
    if (one.kind === "caught_up") told.caughtUp = true;
    else if (one.kind === "columns") columns = one.columns;
    else if (one.kind === "rows") rows.push(...one.rows);
    else if (one.kind === "failure") return err(one.failure);
    else if (one.kind === "broken")
      return err(unavailable("The SQL engine does not answer; try again.", 2, one.message));
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
    return this.#lent(scope, async (child) => {
      const watch = guard(child, DESCRIBE_MS, signal);
      try {
        for await (const news of child.tell({ kind: "describe", statement })) {
          if (news.kind === "summary") return ok(news.summary);
          if (news.kind === "failure") return err<StatementSummary, Failed>(news.failure);
        }
        return err<StatementSummary, Failed>(unavailable("The SQL engine does not answer; try again.", 2));
      } catch (error) {
        return err<StatementSummary, Failed>(watch.isOver ? { kind: "timeout" } : failedOf(error));
      } finally {
        watch.end();
      }
    });
  }

  run(
    scope: SqlScope,
    statement: string,
    limits: SqlLimits,
    { signal }: CallOptions = {},
  ): ResultAsync<SqlRows, Failed> {
    return this.#lent(scope, async (child) => {
      const { owner } = scope;
      const watch = guard(child, limits.deadline, signal);
      const told = { caughtUp: false };
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
        if (!watch.isOver) return err<SqlRows, Failed>(failedOf(error));
        // Batches that were read stay read, so the next call begins where this one ended.
        return err<SqlRows, Failed>(
          told.caughtUp ? { kind: "timeout" } : unavailable("The log is still being read for SQL; try again.", 5),
        );
      } finally {
        watch.end();
      }
    });
  }

  /** The processes that run now; tests look at their memory. */
  pids(): Promise<readonly (number | undefined)[]> {
    return this.#pool.pids();
  }

  /** Ends every process, so that the next query begins with an empty one. */
  restart(): Promise<void> {
    return this.#pool.endAll();
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  #lent<T>({ owner }: SqlScope, work: (child: SqlChild) => Promise<Result<T, Failed>>): ResultAsync<T, Failed> {
    return new ResultAsync(this.#pool.with(owner, work).catch((error: unknown) => err<T, Failed>(failedOf(error))));
  }
}
