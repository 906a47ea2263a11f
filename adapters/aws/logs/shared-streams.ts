/**
 * Chooses the streams that one call reads for several followers. A call has one time range and one prefix of stream
 * names: a deployment's prefix, an account's prefix, or the empty prefix for the whole log group.
 * https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_FilterLogEvents.html
 */
import type { Instant } from "../../../core/domain/wire/instant.ts";
import { millisOf } from "../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../core/ports/system.ts";
import type { LogToRead } from "../../cloud/logs/followers.ts";
import { accountPrefixOf, streamPrefixOf } from "./streams.ts";

/**
 * A log that is further behind than this, in milliseconds, is read alone. Otherwise, the call would start at this log's
 * position, and read the other logs again from there.
 */
const MAX_LAG_MS = 60_000;
/** How long to avoid a prefix that needed too many calls, in milliseconds. */
const CROWDED_MS = 60_000;

/** The empty prefix, which matches all streams of the log group. */
const GROUP = "";

export interface SharedStreams<L> {
  readonly prefix: string;
  /** The logs to read. */
  readonly read: readonly L[];
  /** The number of calls that these logs would need with the next longer prefixes; 1 if there is no such prefix. */
  readonly parts: number;
}

export class SharedPrefixes {
  readonly #clock: Clock;
  /** By prefix, the number of calls since a call last reached the newest entry. */
  readonly #behind = new Map<string, number>();
  /** By prefix, the time in milliseconds until which the prefix is not used. */
  readonly #crowdedUntil = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Returns the prefix of the first log's streams that covers the most logs. Ignores crowded prefixes. Returns the
   * first log's own prefix if no other prefix covers more logs, or if the first log is far behind (`MAX_LAG_MS`).
   *
   * @param logs sorted by their read positions, starting with the log that is furthest behind
   */
  choose<L extends LogToRead>(logs: readonly [L, ...L[]], until: Instant): SharedStreams<L> {
    const named = logs.map((log) => ({ log, own: streamPrefixOf(log.scope.owner, log.scope.service) }));
    const [{ log: first, own }] = named as [(typeof named)[number]];
    const account = accountPrefixOf(first.scope.owner);
    const below = (prefix: string): SharedStreams<L> => {
      const some = named.filter((one) => one.own.startsWith(prefix));
      const accounts = new Set(some.map(({ log }) => log.scope.owner));
      const parts = prefix === GROUP && accounts.size > 1 ? accounts : new Set(some.map((one) => one.own));
      return { prefix, read: some.map(({ log }) => log), parts: parts.size };
    };
    const isNear = Number(until - first.through.instant) / 1e6 <= MAX_LAG_MS;
    const shared = isNear ? [account, GROUP].filter((prefix) => !this.#isCrowded(prefix)) : [];
    return shared
      .map(below)
      .reduce((best, next) => (next.parts > 1 && next.read.length > best.read.length ? next : best), below(own));
  }

  /**
   * Records calls with a prefix. The prefix becomes crowded when it has had as many calls as it has parts, and none of
   * them reached the newest entry.
   */
  took({ prefix, parts }: SharedStreams<unknown>, calls: number, isCaughtUp: boolean): void {
    const sum = (this.#behind.get(prefix) ?? 0) + calls;
    this.#behind.delete(prefix);
    if (isCaughtUp || parts === 1) return;
    if (sum < parts) this.#behind.set(prefix, sum);
    else this.#crowdedUntil.set(prefix, millisOf(this.#clock.now()) + CROWDED_MS);
  }

  #isCrowded(prefix: string): boolean {
    const until = this.#crowdedUntil.get(prefix);
    if (until === undefined || millisOf(this.#clock.now()) < until) return until !== undefined;
    this.#crowdedUntil.delete(prefix);
    return false;
  }
}
