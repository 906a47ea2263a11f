/**
 * Searches a cloud's log within a read quota that all accounts share. Searches wait for the quota. Equal searches share
 * a result, and followers share calls. An aborted search returns immediately.
 */

import type { LogPosition } from "../../../core/domain/logs/cursor.ts";
import { printLogFilter } from "../../../core/domain/logs/filter/print.ts";
import { millisOf } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { LogFindings, LogQuery, LogScope, LogStore } from "../../../core/ports/log-store.ts";
import type { CallOptions, Clock } from "../../../core/ports/system.ts";
import { errAsync, type Result, type ResultAsync } from "../../../core/result.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { untilAborted } from "../../shared/calls/until-aborted.ts";
import { LogFollowers, type ReadLogsTogether, type SettledQuery } from "./followers.ts";
import type { ReadQuota } from "./read-quota.ts";
import { SharedReads } from "./shared-reads.ts";

/** How long equal searches share a result, in milliseconds. */
const SHARED_MS = 1000;
/** Minimum time that a search may wait for the quota, and minimum timeout of a call, in milliseconds. */
const TURN_MS = 2000;

/** Thrown to end a search. `invalid` means that the cloud rejects the filter. */
export class Stopped extends Error {
  readonly reason: Unavailable | "invalid";
  constructor(reason: Unavailable | "invalid") {
    super("the search ended");
    this.reason = reason;
  }
}

const cancelled = unavailable("The search was cancelled.", 1);

const keyOf = ({ owner, service }: LogScope): string => `${accountDigest(owner)}\n${service}\n`;

const isSettled = (query: LogQuery): query is SettledQuery => query.until !== undefined;

/** The remaining time of a search, and its share of the quota. */
export interface ReadBudget {
  /**
   * Resolves when a call is permitted, with the timeout of the call in milliseconds. Throws `Stopped` if the quota is
   * exhausted or the search is aborted.
   */
  take(): Promise<number>;
  /** Returns true when the search must end with the entries found so far. */
  readonly isOver: () => boolean;
}

export interface SearchOptions {
  /** Absent if other callers may share the result. */
  readonly signal?: AbortSignal | undefined;
  /** True for the last lines of a failed deploy. They have their own share of the quota, and need no cursor. */
  readonly forDeploy?: boolean;
  /** True to search backwards from the position. */
  readonly backwards?: boolean;
}

type Read = (
  scope: LogScope,
  query: LogQuery,
  position: LogPosition | undefined,
  options: SearchOptions,
) => Promise<Result<LogFindings, Unavailable>>;

/** A cloud's log store, and the reads of deploys, which have their own share of the quota. */
export interface CloudLogs extends LogStore {
  readonly deployReads: Pick<LogStore, "newest">;
}

export class LogSearches {
  readonly #clock: Clock;
  readonly #quota: ReadQuota;
  readonly #shared: SharedReads<Result<LogFindings, Unavailable>>;
  readonly #read: Read;
  readonly #followers?: LogFollowers;

  /** @param readTogether reads the logs of followers */
  constructor(clock: Clock, quota: ReadQuota, read: Read, readTogether: ReadLogsTogether) {
    this.#clock = clock;
    this.#read = read;
    this.#quota = quota;
    this.#shared = new SharedReads(clock, SHARED_MS);
    if (quota.followsPerMinute === 0) return;
    this.#followers = new LogFollowers({
      clock,
      readTogether,
      readsPerMinute: quota.followsPerMinute,
      keyOf: (scope, filter) => keyOf(scope) + printLogFilter(filter),
      maySearch: () => quota.searches.wait === 0,
    });
  }

  /** @param position the position to continue from; undefined to search the newest entries */
  search(
    scope: LogScope,
    query: LogQuery,
    position: LogPosition | undefined,
    { signal }: CallOptions = {},
  ): ResultAsync<LogFindings, Unavailable> {
    if (signal?.aborted === true) return errAsync(cancelled);
    if (!isSettled(query)) return untilAborted(this.#read(scope, query, position, { signal }), signal, cancelled);
    const search = () => this.#shareSearch(scope, query, position);
    const followers = position === undefined ? undefined : this.#followers;
    const found = followers === undefined ? search() : followers.after(scope, position as LogPosition, query, search);
    return untilAborted(found, signal, cancelled);
  }

  /**
   * Searches backwards from a position. Equal searches do not share a result, because the result does not contain the
   * position up to which it is complete. A later caller could return a cursor after entries that the search missed.
   */
  searchBefore(
    scope: LogScope,
    query: LogQuery,
    position: LogPosition,
    { signal }: CallOptions = {},
  ): ResultAsync<LogFindings, Unavailable> {
    if (signal?.aborted === true) return errAsync(cancelled);
    return untilAborted(this.#read(scope, query, position, { signal, backwards: true }), signal, cancelled);
  }

  /** Returns the newest entries, for a deploy. */
  searchForDeploy(
    scope: LogScope,
    query: LogQuery,
    { signal }: CallOptions = {},
  ): ResultAsync<LogFindings, Unavailable> {
    const options = { signal, forDeploy: true };
    return untilAborted(this.#read(scope, query, undefined, options), signal, cancelled);
  }

  /** Ensures that the next search finds an entry that the platform has just appended. */
  appended(scope: LogScope): void {
    this.#shared.forget(keyOf(scope));
    this.#followers?.appended(scope);
  }

  /** Equal searches can share a result, because the result contains the position up to which it is complete. */
  async #shareSearch(
    scope: LogScope,
    query: SettledQuery,
    position: LogPosition | undefined,
  ): Promise<Result<LogFindings, Unavailable>> {
    const question = [position?.instant.toString(), position?.code, query.limit, printLogFilter(query.filter)];
    const key = keyOf(scope) + JSON.stringify(question);
    const isGood = (found: Result<LogFindings, Unavailable>) => found.isOk() && !found.value.partial;
    const search = async () => {
      const found = await this.#read(scope, query, position, {});
      return found.map((findings) => this.#followers?.learn(scope, position, query, findings) ?? findings);
    };
    return this.#shared.read(key, query.until, search, isGood);
  }

  budget({ timeoutMs }: LogQuery, { signal, forDeploy = false }: SearchOptions): ReadBudget {
    const limiter = forDeploy ? this.#quota.deploys : this.#quota.searches;
    const ends = millisOf(this.#clock.now()) + timeoutMs;
    const left = () => Math.max(ends - millisOf(this.#clock.now()), 0);
    return {
      take: async () => {
        const isLent = !forDeploy && limiter.wait > 0 && (await this.#followers?.lendCall()) === true;
        const wait = isLent ? undefined : await limiter.take(Math.max(left(), TURN_MS), signal);
        if (signal?.aborted === true) throw new Stopped(cancelled);
        if (wait !== undefined)
          throw new Stopped(unavailable("The platform's quota for log reads is exhausted. Try again.", wait));
        return Math.max(left(), TURN_MS);
      },
      isOver: () => left() === 0 || limiter.wait > Math.max(left(), TURN_MS),
    };
  }
}
