/** Holds requests that wait for a log entry. Limits them per account, and ends them when the control plane closes. */
import type { AccountId } from "../../domain/accounts/account.ts";
import { plusMillis } from "../../domain/wire/instant.ts";
import type { Clock } from "../../ports/system.ts";
import { KeyedSemaphore } from "../pipeline/keyed-semaphore.ts";

/** The minimum pause between two reads of the log, in milliseconds. The store may require a longer one. */
const PAUSE_MS = 200;

export interface HeldRead<T> {
  readonly account: AccountId;
  /** Ends the wait, for example because the client has disconnected. */
  readonly signal: AbortSignal | undefined;
  readonly waitMs: number;
  /** Returns the milliseconds until the log may have a new entry, or undefined if the result ends the wait. */
  readonly pauseAfter: (result: T) => number | undefined;
  /** Reads the log again after an earlier result. */
  readonly read: (last: T) => Promise<T>;
}

export class HeldReads {
  readonly #clock: Clock;
  readonly #permits: KeyedSemaphore;
  readonly #closing = new AbortController();

  /** @param atOnce the maximum number of requests of an account that wait */
  constructor(clock: Clock, atOnce: number) {
    this.#clock = clock;
    this.#permits = new KeyedSemaphore(atOnce);
  }

  /** Returns true if a request of the account may wait. */
  isAvailable(account: AccountId): boolean {
    return !this.#closing.signal.aborted && this.#permits.isAvailable(account);
  }

  /** Reads repeatedly until a result ends the wait. The caller must check `isAvailable` first. */
  async hold<T>(first: T, { account, signal, waitMs, pauseAfter, read }: HeldRead<T>): Promise<T> {
    const permit = this.#permits.acquire(account);
    const ends = plusMillis(this.#clock.now(), waitMs);
    const closing = this.#closing.signal;
    const ended = signal === undefined ? closing : AbortSignal.any([signal, closing]);
    try {
      let result = first;
      for (let pause = pauseAfter(result); pause !== undefined; pause = pauseAfter(result)) {
        const left = Number(ends - this.#clock.now()) / 1e6;
        if (left <= 0 || ended.aborted) return result;
        await this.#clock.sleep(Math.min(Math.max(pause, PAUSE_MS), left), ended);
        if (ended.aborted) return result;
        result = await read(result);
      }
      return result;
    } finally {
      permit.release();
    }
  }

  /** Ends all waits. Later requests do not wait. */
  close(): void {
    this.#closing.abort();
  }
}
