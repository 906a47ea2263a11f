/** Where log entries are kept: one total order a deployment. */
import type { AccountId } from "../domain/account.ts";
import type { LogEntry, NewLogEntry } from "../domain/log-entry.ts";
import type { DeploymentName } from "../domain/names.ts";
import type { Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

/** A deployment's log is named by its account and its name, never by the name alone. */
export interface LogScope {
  readonly owner: AccountId;
  readonly service: DeploymentName;
}

export interface LogStore {
  /**
   * Adds entries, in order. The store gives each its position: an instant not before the last one of
   * the scope, and an ordinal that tells entries of one nanosecond apart.
   *
   * When the result is ok, a `newest` that begins afterwards sees them. `unavailable`: none of them
   * may be counted on, and calling again may double some.
   */
  append(entries: readonly NewLogEntry[], options?: CallOptions): ResultAsync<void, Unavailable>;

  /**
   * The newest `limit` entries of the scope, oldest first. The caller guarantees 1 ≤ limit ≤ 1000.
   * A scope that was never written to has none; that is no error.
   */
  newest(scope: LogScope, limit: number, options?: CallOptions): ResultAsync<readonly LogEntry[], Unavailable>;
}
