/** Port for queries in GoogleSQL over the logs and billing of one account. */
import type { AccountId } from "../domain/accounts/account.ts";
import type { SqlColumn, SqlValue } from "../domain/sql/answer.ts";
import type { StatementSummary } from "../domain/sql/statement.ts";
import type { Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

/** The account whose rows the tables contain. */
export interface SqlScope {
  readonly owner: AccountId;
}

/** Why a statement failed. Messages address the author of the statement and must not expose the engine. */
export type SqlFailure =
  /** The statement does not parse, names an unknown table, column or function, or has incompatible types. */
  | { readonly kind: "invalid_statement"; readonly message: string }
  /** The statement failed while it ran, for example in a division or a cast, or for lack of memory. */
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "timeout" }
  | { readonly kind: "too_many_rows" }
  | { readonly kind: "too_large" };

export interface SqlLimits {
  /** Milliseconds from the start of the statement to its last row. A statement may wait in a queue for as long again. */
  readonly deadline: number;
  readonly rows: number;
  /** Maximum bytes of the rows as JSON. */
  readonly bytes: number;
}

export interface SqlRows {
  readonly columns: readonly SqlColumn[];
  /** Values in the order of the columns. If the last item is a failure, the caller must discard the rows. */
  readonly rows: AsyncIterable<readonly SqlValue[] | SqlFailure>;
}

export const isSqlFailure = (item: readonly SqlValue[] | SqlFailure): item is SqlFailure => !Array.isArray(item);

export interface SqlEngine {
  /** Parses a statement with the engine's parser and summarizes it, without running it. The text is untrusted. */
  describe(
    scope: SqlScope,
    statement: string,
    options?: CallOptions,
  ): ResultAsync<StatementSummary, SqlFailure | Unavailable>;

  /**
   * Runs a statement. The caller must pass one that `describe` summarized and that the statement rule permits.
   *
   * The statement must see every entry of the account that became visible at least `capabilities.sql.lag_seconds` ago, and
   * no entry of another account. A statement that exceeds a limit must end with a failure. If the engine is busy, statements
   * wait in a queue that is fair between accounts. Fails with `unavailable` if the engine is down or still reads the log,
   * or if the wait exceeds the deadline; a retry may succeed.
   */
  run(
    scope: SqlScope,
    statement: string,
    limits: SqlLimits,
    options?: CallOptions,
  ): ResultAsync<SqlRows, SqlFailure | Unavailable>;
}
