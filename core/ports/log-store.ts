/** Port for logs. The entries of one deployment have a total order. */
import type { AccountId } from "../domain/accounts/account.ts";
import type { LogPosition } from "../domain/logs/cursor.ts";
import type { LogEntry, NewLogEntry } from "../domain/logs/entry.ts";
import type { LogFilter } from "../domain/logs/filter/tree.ts";
import type { SeverityCounts } from "../domain/logs/histogram.ts";
import type { Instant } from "../domain/wire/instant.ts";
import type { DeploymentName } from "../domain/wire/names.ts";
import type { Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

/**
 * Identifies the log of a deployment. Both fields are required: after a deployment is deleted, another account may use
 * its name and must not read the earlier log.
 */
export interface LogScope {
  readonly owner: AccountId;
  readonly service: DeploymentName;
}

/** A search in one log. */
export interface LogQuery {
  /** Selects the entries to return. A store that cannot evaluate filters itself can use `matcherOf`. */
  readonly filter: LogFilter;
  /** Maximum number of entries. The caller must pass 1 to 1000. */
  readonly limit: number;
  /**
   * The search must not return entries after this time. The caller sets `until` if new entries become visible late
   * (`settle_seconds`), to exclude times whose entries may be incomplete. Absent: no bound.
   */
  readonly until?: Instant;
  /**
   * The search must return the entries found so far when this many milliseconds have passed since the call. Time in a
   * queue counts too.
   */
  readonly timeoutMs: number;
}

/** A count of the entries in one log. */
export interface LogCountQuery extends Pick<LogQuery, "filter" | "timeoutMs"> {
  /**
   * The edges of the buckets, oldest first. A bucket contains the entries after its first edge, up to and including its
   * second edge. The caller must pass 2 to 501 different positions.
   */
  readonly edges: readonly LogPosition[];
}

/** The result of a forward search, or of a search for the newest entries. */
export interface LogFindings {
  /** Oldest first. May contain fewer than `limit` entries, because a page has a maximum size (`fitting`). */
  readonly entries: readonly LogEntry[];
  /**
   * The position from which the next search continues. The search covered every entry up to and including this
   * position, except entries that `newest` omitted because of its limit, page size or timeout. Absent if the log has no
   * entries to search.
   */
  readonly seen?: LogPosition;
  /**
   * True if the timeout or the page size ended the search early. A search that continues from `seen` must make
   * progress, even with a `timeoutMs` of 0.
   */
  readonly partial: boolean;
  /**
   * Milliseconds after which a search that continues from `seen` may find more entries. A follower should wait this
   * long, because reads count against the store's quota. Absent if the store has no read quota or has more entries now.
   */
  readonly pollAfterMs?: number;
}

/** The result of a backward search. */
export interface EarlierFindings extends Omit<LogFindings, "seen" | "pollAfterMs"> {
  /**
   * The position from which the next backward search continues, before all entries that this search covered. Absent
   * if the search covered the oldest entry.
   */
  readonly seen?: LogPosition;
}

/** The result of a count. */
export interface LogCounts {
  /** The number of matching entries of each bucket by severity, oldest bucket first. */
  readonly counts: readonly SeverityCounts[];
  /**
   * The position from which the next count continues: this count includes exactly the matches after it. Absent if the
   * count includes every match.
   */
  readonly seen?: LogPosition;
}

/** Stores log entries and searches them. */
export interface LogStore {
  /**
   * Appends entries in order. The store assigns each entry a position: an instant that is not before the last instant
   * of the log, and a code that distinguishes entries of the same nanosecond.
   *
   * The caller must pass only `json` values that survive a round trip through JSON. The store may drop an entry with
   * any other value, but must store the remaining entries.
   *
   * A search that begins `capabilities.logs.settle_seconds` after the call succeeds must find the entries. Fails with
   * `unavailable` if the store cannot accept the entries. Some entries may be stored even then, so a retry may
   * duplicate them.
   */
  append(entries: readonly NewLogEntry[], options?: CallOptions): ResultAsync<void, Unavailable>;

  /**
   * Returns the newest matching entries. Returns no entries for a log that is empty or does not exist.
   *
   * `seen` is the position of the newest entry of the log, whether or not that entry matches. If the matches exceed the
   * page size, the store must omit the oldest. If `signal` aborts, the search must fail promptly with `unavailable`.
   */
  newest(scope: LogScope, query: LogQuery, options?: CallOptions): ResultAsync<LogFindings, Unavailable>;

  /**
   * Returns the first matching entries after a position.
   *
   * `seen` is the position of the last match if the search reached its limit, and of the last examined entry otherwise.
   * It is absent if no entry follows the position. If the matches exceed the page size, the store must omit the newest;
   * the next call returns them. If `signal` aborts, the search must fail promptly with `unavailable`.
   */
  after(
    scope: LogScope,
    position: LogPosition,
    query: LogQuery,
    options?: CallOptions,
  ): ResultAsync<LogFindings, Unavailable>;

  /**
   * Returns the last matching entries up to and including a position, oldest first. Required if
   * `capabilities.logs.descending` is supported.
   *
   * `seen` must be `justBefore` the oldest match if the search reached its limit, and `justBefore` the last examined
   * entry if the timeout ended it. If the matches exceed the page size, the store must omit the oldest; the next call
   * returns them. If `signal` aborts, the search must fail promptly with `unavailable`.
   */
  before?(
    scope: LogScope,
    position: LogPosition,
    query: LogQuery,
    options?: CallOptions,
  ): ResultAsync<EarlierFindings, Unavailable>;

  /**
   * Counts the matching entries of each bucket, newest entries first. Required if `capabilities.logs.histogram` is
   * supported.
   *
   * If the timeout ends the count, the store must return the counts so far and `seen`. A count up to `seen` must make
   * progress, even with a `timeoutMs` of 0. If `signal` aborts, the count must fail promptly with `unavailable`.
   */
  count?(scope: LogScope, query: LogCountQuery, options?: CallOptions): ResultAsync<LogCounts, Unavailable>;

  /**
   * Resolves when the log receives an entry after the call, or when the signal aborts. A search that begins afterwards
   * must find the entry. May resolve too late or only when the signal aborts, so the caller must also poll. Must not
   * reject.
   */
  nextEntry?(scope: LogScope, options: Required<CallOptions>): Promise<void>;
}
