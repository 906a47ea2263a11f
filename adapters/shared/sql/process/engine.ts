/**
 * A `SqlEngine` with one process per account, which parses and runs the account's statements. The control plane's own
 * process must not parse or run statements, because they are untrusted.
 */
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { SqlColumn, SqlValue } from "../../../../core/domain/sql/answer.ts";
import type { StatementSummary } from "../../../../core/domain/sql/statement.ts";
import { unavailable } from "../../../../core/errors.ts";
import type { SqlEngine, SqlLimits, SqlRows, SqlScope } from "../../../../core/ports/sql-engine.ts";
import type { CallOptions } from "../../../../core/ports/system.ts";
import { err, ok, type Result, type ResultAsync } from "../../../../core/result.ts";
import { each, type Failed } from "../remote.ts";
import type { BillingSource } from "../tables/billing.ts";
import type { EntryRow } from "../tables/entries.ts";
import { failedOf, guard, sendTextRequest, withProcess } from "./ask.ts";
import { ChildTrapped, DatabaseBroken } from "./child.ts";
import { type PoolConfig, SqlPool } from "./pool.ts";
import type { SqlReply } from "./protocol.ts";

export interface SqlEngineConfig extends PoolConfig {
  /** Called before each run. Must make all entries logged so far visible to the process. */
  readonly beforeRun: (owner: AccountId) => Promise<void>;
  /**
   * Returns the entries that the process with this id has not received yet. Absent if the process reads the log itself.
   */
  readonly fresh?: (owner: AccountId, pid: number | undefined) => readonly EntryRow[];
  readonly billing: BillingSource;
  /** Called after a run whose process could not read its log or its database. */
  readonly onBroken?: (owner: AccountId) => void;
}

/**
 * Returns whether a statement could refer to `billing`. The process receives the billing rows only in this case. A
 * statement with a backslash could, because GoogleSQL permits escapes in names.
 */
const mayReadBilling = (statement: string): boolean => /billing|\\/i.test(statement);

/** Collects the replies to a `run` request. */
const collect = async (replies: AsyncIterable<SqlReply>, onCaughtUp: () => void): Promise<Result<SqlRows, Failed>> => {
  let columns: readonly SqlColumn[] = [];
  const rows: (readonly SqlValue[])[] = [];
  for await (const reply of replies)
    if (reply.kind === "caught_up") onCaughtUp();
    else if (reply.kind === "columns") columns = reply.columns;
    else if (reply.kind === "rows") rows.push(...reply.rows);
    else if (reply.kind === "failure") return err(reply.failure);
  return ok({ columns, rows: each(rows) });
};

export class ProcessSqlEngine implements SqlEngine {
  readonly #config: SqlEngineConfig;
  readonly #pool: SqlPool;

  constructor(config: SqlEngineConfig) {
    this.#config = config;
    this.#pool = new SqlPool(config);
  }

  describe(scope: SqlScope, statement: string, { signal }: CallOptions = {}): ResultAsync<StatementSummary, Failed> {
    return sendTextRequest(this.#pool, scope, { kind: "describe", statement }, signal).map(({ summary }) => summary);
  }

  run(
    scope: SqlScope,
    statement: string,
    limits: SqlLimits,
    { signal }: CallOptions = {},
  ): ResultAsync<SqlRows, Failed> {
    return withProcess(this.#pool, scope, limits.timeoutMs, signal, async (child) => {
      const { owner } = scope;
      using watch = guard(child, limits.timeoutMs, signal);
      let caughtUp = false;
      try {
        await this.#config.beforeRun(owner);
        const fresh = this.#config.fresh?.(owner, child.pid);
        const billing = mayReadBilling(statement) ? await this.#config.billing(owner) : undefined;
        const request = { kind: "run", statement, rows: limits.rows, bytes: limits.bytes, fresh, billing } as const;
        return await collect(child.send(request), () => {
          caughtUp = true;
        });
      } catch (error) {
        if (error instanceof ChildTrapped) throw error;
        const isBroken = error instanceof DatabaseBroken;
        if (isBroken) this.#config.onBroken?.(owner);
        if (isBroken || !watch.isOver) return err(failedOf(error));
        // The timeout has killed the process. Its database keeps the batches imported so far, so the next call
        // continues after them.
        if (caughtUp) return err({ kind: "timeout" });
        return err(unavailable("The SQL engine is still reading the log. Try again.", 5));
      }
    });
  }

  /** Returns the ids of the running processes, for tests of their memory. */
  pids(): Promise<readonly (number | undefined)[]> {
    return this.#pool.pids();
  }

  /** Ends all processes. The next query starts a new one. */
  restart(): Promise<void> {
    return this.#pool.endAll();
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}
