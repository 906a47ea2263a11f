/**
 * Searches in a cloud's log, under a read quota that all tenants share. Searches wait for the quota. Equal searches
 * share a result. An aborted search returns immediately.
 */

import type { LogPosition } from "../../../core/domain/logs/cursor.ts";
import { printLogFilter } from "../../../core/domain/logs/filter/print.ts";
import { millisOf } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { LogFindings, LogQuery, LogScope } from "../../../core/ports/log-store.ts";
import type { CallOptions, Clock } from "../../../core/ports/system.ts";
import { errAsync, type Result, type ResultAsync } from "../../../core/result.ts";
import { accountDigest } from "../accounts/account-digest.ts";
import { untilAborted } from "../calls/until-aborted.ts";
import { ReadLimiter } from "./read-limiter.ts";
import { SharedReads } from "./shared-reads.ts";

/** Milliseconds for which equal searches share a result. */
const SHARED_MS = 1000;
/** Milliseconds that a search may wait for the quota, and the minimum timeout of a call. */
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

/** Performs a search. Receives no signal if other callers may share the result. */
type Read = (
  scope: LogScope,
  query: LogQuery,
  place: LogPosition | undefined,
  signal: AbortSignal | undefined,
) => Promise<Result<LogFindings, Unavailable>>;

export class LogSearches {
  readonly #clock: Clock;
  readonly #limiter: ReadLimiter;
  readonly #shared: SharedReads<Result<LogFindings, Unavailable>>;
  readonly #read: Read;

  constructor(clock: Clock, readsPerMinute: number, read: Read) {
    this.#clock = clock;
    this.#read = read;
    this.#limiter = new ReadLimiter(clock, readsPerMinute);
    this.#shared = new SharedReads(clock, SHARED_MS);
  }

  /** @param place the position from which to continue; undefined to search the newest entries */
  search(
    scope: LogScope,
    query: LogQuery,
    place: LogPosition | undefined,
    { signal }: CallOptions = {},
  ): ResultAsync<LogFindings, Unavailable> {
    if (signal?.aborted === true) return errAsync(cancelled);
    if (query.until === undefined) return untilAborted(this.#read(scope, query, place, signal), signal, cancelled);
    // A result with an upper bound stays correct: it reports the position up to which it is complete.
    const question = [place?.instant.toString(), place?.code, query.limit, printLogFilter(query.filter)];
    const key = keyOf(scope) + JSON.stringify(question);
    const isGood = (found: Result<LogFindings, Unavailable>) => found.isOk() && !found.value.partial;
    const found = this.#shared.read(key, query.until, () => this.#read(scope, query, place, undefined), isGood);
    return untilAborted(found, signal, cancelled);
  }

  /** Forgets cached results of a log, so that a new entry is visible immediately. */
  forget(scope: LogScope): void {
    this.#shared.forget(keyOf(scope));
  }

  budget({ timeoutMs }: LogQuery, signal: AbortSignal | undefined): ReadBudget {
    const ends = millisOf(this.#clock.now()) + timeoutMs;
    const left = () => Math.max(ends - millisOf(this.#clock.now()), 0);
    return {
      take: async () => {
        const wait = await this.#limiter.take(Math.max(left(), TURN_MS), signal);
        if (signal?.aborted === true) throw new Stopped(cancelled);
        if (wait !== undefined)
          throw new Stopped(unavailable("The platform's quota for log reads is exhausted. Try again.", wait));
        return Math.max(left(), TURN_MS);
      },
      isOver: () => left() === 0 || this.#limiter.wait > Math.max(left(), TURN_MS),
    };
  }
}
