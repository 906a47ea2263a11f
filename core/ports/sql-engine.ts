/** Port for GoogleSQL queries over the logs and billing of one account. */
import type { AccountId } from "../domain/accounts/account.ts";
import type { SqlColumn, SqlValue } from "../domain/sql/answer.ts";
import type { StatementSummary } from "../domain/sql/statement.ts";
import type { Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

/** Limits a statement to the rows of one account. */
export interface SqlScope {
  readonly owner: AccountId;
}

/** The reason why a statement failed. Messages address the statement's author and must not name the engine. */
export type SqlFailure =
  /** The statement does not parse, names an unknown table, column or function, or has incompatible types. */
  | { readonly kind: "invalid_statement"; readonly message: string }
  /** The statement failed during execution, for example in a division or a cast, or because it ran out of memory. */
  | { readonly kind: "failed"; readonly message: string }
  /** The statement exceeded `SqlLimits.timeoutMs`. */
  | { readonly kind: "timeout" }
  /** The result exceeded `SqlLimits.rows`. */
  | { readonly kind: "too_many_rows" }
  /** The result exceeded `SqlLimits.bytes`. */
  | { readonly kind: "too_large" };

/** Limits of one statement. */
export interface SqlLimits {
  /**
   * Maximum milliseconds from the start of execution to the last row. Before it starts, the statement may wait in a
   * queue for at most the same time.
   */
  readonly timeoutMs: number;
  /** Maximum number of rows. */
  readonly rows: number;
  /** Maximum size of the rows as JSON, in bytes. */
  readonly bytes: number;
}

/** The result of a statement. */
export interface SqlRows {
  readonly columns: readonly SqlColumn[];
  /**
   * The rows, each with its values in the order of `columns`. The last item may be a failure instead of a row; the
   * caller must then discard all rows.
   */
  readonly rows: AsyncIterable<readonly SqlValue[] | SqlFailure>;
}

/** Returns true for an item of `SqlRows.rows` that is a failure and not a row. */
export const isSqlFailure = (item: readonly SqlValue[] | SqlFailure): item is SqlFailure => !Array.isArray(item);

/** Runs GoogleSQL statements. */
export interface SqlEngine {
  /**
   * Parses a statement with the engine's own parser and returns a summary. Must not run the statement, whose text is
   * untrusted. Fails with `invalid_statement` if the text does not parse.
   */
  describe(
    scope: SqlScope,
    statement: string,
    options?: CallOptions,
  ): ResultAsync<StatementSummary, SqlFailure | Unavailable>;

  /**
   * Runs a statement. The caller must first `describe` the statement and check the summary with the rules of the
   * domain.
   *
   * The statement must see every entry of the account that became visible at least `capabilities.sql.lag_seconds` ago.
   * It must not see entries of other accounts. A statement that exceeds a limit must end with a failure. If the engine
   * is busy, the statement must wait in a queue that is fair between accounts.
   *
   * Fails with `unavailable` if the engine is down or not ready, or if the statement waits longer than `timeoutMs`. A
   * retry may succeed.
   */
  run(
    scope: SqlScope,
    statement: string,
    limits: SqlLimits,
    options?: CallOptions,
  ): ResultAsync<SqlRows, SqlFailure | Unavailable>;
}
