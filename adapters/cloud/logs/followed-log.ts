/**
 * The recent part of a log that clients follow: its matches in a range without gaps. A read from a position in this
 * range needs no call to the cloud.
 */
import { behind, comparePositions, type LogPosition } from "../../../core/domain/logs/cursor.ts";
import { type LogEntry, messageOf } from "../../../core/domain/logs/entry.ts";
import type { LogFilter } from "../../../core/domain/logs/filter/tree.ts";
import { pageRoom } from "../../../core/domain/logs/page-size.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { LogFindings, LogQuery, LogScope } from "../../../core/ports/log-store.ts";

export interface FollowedLog {
  readonly scope: LogScope;
  readonly filter: LogFilter;
  readonly matches: (entry: LogEntry) => boolean;
  /** The range contains every match after `from`, up to and including `through`. */
  from: LogPosition;
  through: LogPosition;
  /** The matches in the range, in order. */
  entries: LogEntry[];
  /** False if the last read ended before the newest entry. */
  isCaughtUp: boolean;
  /**
   * The reason why the log is read alone: `busy` until it has caught up, `unjoinable` if the cloud rejected a shared
   * call that contained this log's filter. False if the log is read with others.
   */
  alone: false | "busy" | "unjoinable";
  /**
   * The time when the platform appended an entry. Reads must not use the range until `through` has reached this time.
   */
  mustReach: Instant | undefined;
  /** The time of the last read by a follower, in milliseconds; 0 before the first read. */
  followedAt: number;
  /** The number of the last round that read this log; 0 before the first round. */
  lastRound: number;
  /** The time when the range was created, in milliseconds. */
  readonly begunAt: number;
}

/** A sorted page of several logs, complete up to the position `end`; without `end`, up to the read's upper bound. */
export interface FollowedPage {
  readonly entries: readonly LogEntry[];
  readonly end?: LogPosition;
}

export const covers = ({ from }: FollowedLog, position: LogPosition): boolean => comparePositions(from, position) <= 0;

/** Returns the matches of the range after a position. */
export const findingsOf = (
  log: FollowedLog,
  position: LogPosition,
  { limit, until }: Pick<LogQuery, "limit" | "until">,
): LogFindings => {
  const isUnread = (entry: LogEntry) =>
    comparePositions(entry, position) > 0 && (until === undefined || entry.instant <= until);
  const unread = log.entries.filter(isUnread).slice(0, limit);
  const hasRoom = pageRoom();
  const end = unread.findIndex((entry) => !hasRoom(messageOf(entry).length));
  const entries = end < 0 ? unread : unread.slice(0, end);
  const last = entries.at(-1);
  return {
    entries,
    ...(last === undefined ? {} : { seen: { instant: last.instant, code: last.code } }),
    partial: end >= 0 || (!log.isCaughtUp && entries.length < limit),
  };
};

/** Adds a page of a log's entries. Returns the matches. */
export const addPage = (log: FollowedLog, { entries, end }: FollowedPage, until: Instant): readonly LogEntry[] => {
  const added: LogEntry[] = [];
  if (end !== undefined && comparePositions(end, log.through) <= 0) return added;
  let last = log.through;
  for (const entry of entries) {
    // A repeated delivery has the same position as the previous entry.
    if (comparePositions(entry, last) <= 0) continue;
    last = entry;
    if (log.matches(entry)) added.push(entry);
  }
  log.entries.push(...added);
  const through = end ?? behind(until);
  if (comparePositions(through, log.through) > 0) log.through = through;
  log.isCaughtUp = end === undefined;
  return added;
};
