/**
 * Searches in a cloud's log under a quota that all tenants share: they wait for their turn, who asks the same shares one,
 * and who goes is answered at once.
 */

import type { LogPosition } from "../../../core/domain/logs/cursor.ts";
import { printLogFilter } from "../../../core/domain/logs/filter/print.ts";
import { millisOf } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { LogFindings, LogQuery, LogScope } from "../../../core/ports/log-store.ts";
import type { CallOptions, Clock } from "../../../core/ports/system.ts";
import { err, type Result, ResultAsync } from "../../../core/result.ts";
import { accountDigest } from "../accounts/account-digest.ts";
import { ReadLimiter } from "./read-limiter.ts";
import { SharedReads } from "./shared-reads.ts";

/** For how long one poll is also the next one's of the same question. */
const SHARED_MS = 1000;
/** A search waits for its turn no longer than this. */
const TURN_MS = 2000;

/** Ends a search from within; `invalid` where the cloud does not take it. */
export class Stopped extends Error {
  readonly reason: Unavailable | "invalid";
  constructor(reason: Unavailable | "invalid") {
    super("the search ended");
    this.reason = reason;
  }
}

const nobodyWaits = () => unavailable("The search was ended, for nobody waits for it.", 1);

/** Whoever goes is answered at once, and leaves a shared search to the others. */
const gone = (signal: AbortSignal): Promise<Result<never, Unavailable>> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve(err(nobodyWaits())), { once: true }));

const keyOf = ({ owner, service }: LogScope): string => `${accountDigest(owner)}\n${service}\n`;

/** One search's time, and its turns. */
export interface Turns {
  /** Resolves when a call may be made, with the milliseconds that it may take; throws `Stopped` where none may. */
  take(): Promise<number>;
  /** True once the search has to end with what it has. */
  readonly isOver: () => boolean;
}

/** The search itself; it gets no signal where others may wait for it, too. */
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

  /** @param place where it goes on; undefined: at the newest end */
  search(
    scope: LogScope,
    query: LogQuery,
    place: LogPosition | undefined,
    { signal }: CallOptions = {},
  ): ResultAsync<LogFindings, Unavailable> {
    if (signal?.aborted === true) return new ResultAsync(Promise.resolve(err(nobodyWaits())));
    // An answer up to some instant is good a moment later, too: it says how far it has seen.
    const heard = (found: Promise<Result<LogFindings, Unavailable>>) =>
      new ResultAsync(signal === undefined ? found : Promise.race([found, gone(signal)]));
    if (query.until === undefined) return heard(this.#read(scope, query, place, signal));
    const question = [place?.instant.toString(), place?.code, query.limit, printLogFilter(query.filter)];
    const key = keyOf(scope) + JSON.stringify(question);
    const isGood = (found: Result<LogFindings, Unavailable>) => found.isOk() && !found.value.partial;
    return heard(this.#shared.read(key, query.until, () => this.#read(scope, query, place, undefined), isGood));
  }

  /** What was written there is to be seen at once. */
  forget(scope: LogScope): void {
    this.#shared.forget(keyOf(scope));
  }

  turns({ timeoutMs }: LogQuery, signal: AbortSignal | undefined): Turns {
    const ends = millisOf(this.#clock.now()) + timeoutMs;
    const left = () => Math.max(ends - millisOf(this.#clock.now()), 0);
    return {
      take: async () => {
        const wait = await this.#limiter.take(Math.max(left(), TURN_MS), signal);
        if (signal?.aborted === true) throw new Stopped(nobodyWaits());
        if (wait !== undefined)
          throw new Stopped(unavailable("The logs of this platform are read too often at this moment.", wait));
        return Math.max(left(), TURN_MS);
      },
      isOver: () => left() === 0 || this.#limiter.wait > Math.max(left(), TURN_MS),
    };
  }
}
