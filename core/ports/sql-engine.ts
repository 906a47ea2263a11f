/** Answers questions in GoogleSQL over one account's logs and billing. */
import type { AccountId } from "../domain/account.ts";
import type { SqlColumn, SqlValue } from "../domain/sql/answer.ts";
import type { StatementSummary } from "../domain/sql/statement.ts";
import type { Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

/** Whose rows the two tables have. */
export interface SqlScope {
  readonly owner: AccountId;
}

/** Why a statement has no answer. Messages are for the author of the statement, and name nothing of the engine. */
export type SqlFailure =
  /** It does not parse, names what is not there, or its types do not fit. */
  | { readonly kind: "invalid_statement"; readonly message: string }
  /** It failed on its data: a division, a cast, memory. */
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "timeout" }
  | { readonly kind: "too_many_rows" }
  | { readonly kind: "too_large" };

export interface SqlLimits {
  /** Milliseconds from the statement's turn to the last row. Where others run, it waits for its turn at most as long. */
  readonly deadline: number;
  readonly rows: number;
  /** Bytes of the answer's rows as JSON. */
  readonly bytes: number;
}

export interface SqlRows {
  readonly columns: readonly SqlColumn[];
  /** Values in the order of the columns. A failure on the way is the last item, and nothing of the rows may be shown. */
  readonly rows: AsyncIterable<readonly SqlValue[] | SqlFailure>;
}

export const isSqlFailure = (item: readonly SqlValue[] | SqlFailure): item is SqlFailure => !Array.isArray(item);

export interface SqlEngine {
  /** What a statement is made of, by the engine's own parser; nothing of it runs. The text is anybody's. */
  describe(
    scope: SqlScope,
    statement: string,
    options?: CallOptions,
  ): ResultAsync<StatementSummary, SqlFailure | Unavailable>;

  /**
   * Runs a statement that `describe` has summed up and that passed the statement rule; the engine need not rely on that.
   * It sees every entry that became visible up to `capabilities.sql.lag_seconds` ago, and no other account's.
   * A statement that passes a limit ends with its failure, never with some of its rows. A statement waits while as many
   * others run as the engine can; accounts take turns. `unavailable`: the engine is down or still reading the log, or the wait
   * reached the limit; the same call may succeed later.
   */
  run(
    scope: SqlScope,
    statement: string,
    limits: SqlLimits,
    options?: CallOptions,
  ): ResultAsync<SqlRows, SqlFailure | Unavailable>;
}
