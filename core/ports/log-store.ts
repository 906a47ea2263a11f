/** Where log entries are kept: one total order a deployment. */
import type { AccountId } from "../domain/account.ts";
import type { Instant } from "../domain/instant.ts";
import type { LogPosition } from "../domain/log-cursor.ts";
import type { LogEntry, NewLogEntry } from "../domain/log-entry.ts";
import type { LogFilter } from "../domain/log-filter/tree.ts";
import type { DeploymentName } from "../domain/names.ts";
import type { Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

/** A deployment's log is named by its account and its name, never by the name alone. */
export interface LogScope {
  readonly owner: AccountId;
  readonly service: DeploymentName;
}

export interface LogQuery {
  readonly filter: LogFilter;
  /** Entries at most. The caller guarantees 1 ≤ limit ≤ 1000. */
  readonly limit: number;
  /** Only entries up to this instant: those after it may not be all there yet. Absent: every entry. */
  readonly until?: Instant;
  /** Milliseconds after which the search ends with what it has found, from the call on, waiting included. */
  readonly patience: number;
}

export interface LogFindings {
  /** Oldest first; fewer than there are where they are too long for one page (`pageRoom`). */
  readonly entries: readonly LogEntry[];
  /**
   * Where the next search goes on: nothing that lies before or at this place was left out, but what limit, room or
   * patience of `newest` left out. Absent where there was nothing to look at.
   */
  readonly seen?: LogPosition;
  /** The patience, or the room of the page, was over before the search was. One that goes on from `seen` gets on. */
  readonly partial: boolean;
}

export interface LogStore {
  /**
   * Adds entries, in order. The store gives each its position: an instant not before the last one of
   * the scope, and a code that tells entries of one nanosecond apart.
   *
   * The caller guarantees that `json` can be written as JSON, and read again. An entry that cannot be is lost, and no
   * other with it.
   *
   * When the result is ok, a search that begins `capabilities.logs.settle_seconds` afterwards sees them. `unavailable`:
   * none of them may be counted on, and calling again may double some.
   */
  append(entries: readonly NewLogEntry[], options?: CallOptions): ResultAsync<void, Unavailable>;

  /**
   * The newest matches of the scope. A scope that was never written to has none; that is no error.
   * `seen` is the newest entry of the scope, whether it matches or not. Where the page has no room for all of them, the
   * oldest are left out. When `signal` aborts, the search ends soon, with an error.
   */
  newest(scope: LogScope, query: LogQuery, options?: CallOptions): ResultAsync<LogFindings, Unavailable>;

  /**
   * The first matches behind a place. `seen` is the last match where the limit was reached, else the last
   * entry that was looked at; absent where none lies behind the place. Where the page has no room for all of them, the
   * newest are left out, and come with the next call.
   */
  after(
    scope: LogScope,
    place: LogPosition,
    query: LogQuery,
    options?: CallOptions,
  ): ResultAsync<LogFindings, Unavailable>;
}
