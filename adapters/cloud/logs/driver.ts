/** The interface that a cloud implements for logs: it writes entries, and lists the entries of one or several logs. */
import type { NewLogEntry } from "../../../core/domain/logs/entry.ts";
import type { LogFilter } from "../../../core/domain/logs/filter/tree.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { LogScope } from "../../../core/ports/log-store.ts";
import type { Result, ResultAsync } from "../../../core/result.ts";
import type { FirstEntries, ListedPage } from "./first-entries.ts";
import type { LogToRead } from "./followers.ts";
import type { QuotaShares } from "./read-quota.ts";
import type { List, Listing, Scan } from "./scan.ts";

/** `invalid`: the cloud rejects the filter. */
export type Listed<T> = Promise<Result<T, Unavailable | "invalid">>;

/** A call's turn to use the read quota. */
export interface Turn {
  /** Resolves when the call is permitted, with its timeout in milliseconds. Throws to end the search. */
  readonly take: () => Promise<number>;
  readonly signal: AbortSignal | undefined;
}

/** A search of one log. */
export interface LogSearch extends Pick<Scan, "pushed"> {
  /** Takes a turn before each call. */
  list(turn: Turn, ...page: Parameters<List>): Listed<Listing>;
}

/** A call that reads several logs. */
export interface JoinedLogs<L> {
  /** The logs that fit into the call. */
  readonly read: readonly L[];
  /** Lists the entries of these logs, oldest first. Absent if no entry can match. Must not retry. */
  readonly list?: (token: string | undefined) => Listed<ListedPage>;
  /** The logs whose filters the cloud evaluates. */
  readonly filtered: readonly L[];
  /** Called after the entries are read. */
  readonly onRead?: (found: FirstEntries) => void;
}

/** Identifies an entry, so that a retry does not duplicate it. */
export interface EntryMark {
  readonly instant: Instant;
  readonly random: string;
}

export interface LogDriver extends Pick<Scan, "grain" | "maxPageEntries"> {
  /** The name of the cloud's service, for messages. */
  readonly service: string;
  readonly shares: QuotaShares;
  /** Writes entries. Drops an entry that the cloud rejects, and logs the loss. */
  append(
    entries: readonly NewLogEntry[],
    nextMark: () => EntryMark,
    signal: AbortSignal | undefined,
  ): ResultAsync<void, Unavailable>;
  /**
   * Returns alternative searches, best first. If the cloud rejects the filter of a search, the store tries the next.
   */
  searches(scope: LogScope, filter: LogFilter): readonly LogSearch[];
  /** @param logs sorted by their read positions */
  join<L extends LogToRead>(logs: readonly [L, ...L[]], until: Instant): JoinedLogs<L>;
}
