/** Port for logs. The entries of a deployment have a total order. */
import type { AccountId } from "../domain/accounts/account.ts";
import type { LogPosition } from "../domain/logs/cursor.ts";
import type { LogEntry, NewLogEntry } from "../domain/logs/entry.ts";
import type { LogFilter } from "../domain/logs/filter/tree.ts";
import type { Instant } from "../domain/wire/instant.ts";
import type { DeploymentName } from "../domain/wire/names.ts";
import type { Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

/** Identifies a log by account and deployment name. A name alone does not identify a log. */
export interface LogScope {
  readonly owner: AccountId;
  readonly service: DeploymentName;
}

export interface LogQuery {
  readonly filter: LogFilter;
  /** Maximum number of entries. The caller must pass 1 to 1000. */
  readonly limit: number;
  /** Newest time of an entry to return, because later entries may still be arriving. Absent: no bound. */
  readonly until?: Instant;
  /** Milliseconds from the call, including time in a queue, after which the search must return what it has found. */
  readonly patience: number;
}

export interface LogFindings {
  /** Oldest first. Contains fewer than `limit` entries if more would exceed the size of a page (`pageRoom`). */
  readonly entries: readonly LogEntry[];
  /**
   * Where the next search continues. The search has covered every entry up to and including this position, except those
   * that `newest` omits because of its limit, page size or time limit. Absent if there were no entries to search.
   */
  readonly seen?: LogPosition;
  /** True if the search reached its time limit or page size first. A search that continues from `seen` makes progress. */
  readonly partial: boolean;
}

export interface LogStore {
  /**
   * Appends entries in order. The store assigns each a position: an instant that is not before the last one of the log,
   * and a code that distinguishes entries of the same nanosecond.
   *
   * The caller must pass `json` values that survive a round trip through JSON. The store may drop an entry that does not,
   * but must keep the others.
   *
   * A search that begins `capabilities.logs.settle_seconds` after the call succeeds must find the entries. If the call
   * fails with `unavailable`, some entries may be stored, so a second call may duplicate them.
   */
  append(entries: readonly NewLogEntry[], options?: CallOptions): ResultAsync<void, Unavailable>;

  /**
   * Returns the newest matches. A log without entries returns none and does not fail. `seen` is the newest entry of the
   * log, whether it matches or not. If the matches exceed the page size, the oldest are omitted. If `signal` aborts, the
   * search must fail soon.
   */
  newest(scope: LogScope, query: LogQuery, options?: CallOptions): ResultAsync<LogFindings, Unavailable>;

  /**
   * Returns the first matches after a position. `seen` is the last match if the search reached its limit, otherwise the
   * last entry that it examined; absent if no entry follows the position. If the matches exceed the page size, the newest
   * are omitted, and the next call returns them.
   */
  after(
    scope: LogScope,
    place: LogPosition,
    query: LogQuery,
    options?: CallOptions,
  ): ResultAsync<LogFindings, Unavailable>;
}
