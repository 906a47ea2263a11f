/** Holds requests that wait for a log entry. Limits them per account, and ends them when the control plane closes. */
import type { AccountId } from "../../domain/accounts/account.ts";
import { pauseAfter as quietPause } from "../../domain/logs/follow-log.ts";
import type { Clock } from "../../ports/system.ts";
import { KeyedSemaphore } from "../pipeline/keyed-semaphore.ts";

export interface HeldRead<T> {
  readonly account: AccountId;
  /** Ends the wait, for example because the client has disconnected. */
  readonly signal: AbortSignal | undefined;
  readonly waitMs: number;
  /** Returns the milliseconds until the log may have a new entry, or undefined if the result ends the wait. */
  readonly pauseAfter: (result: T) => number | undefined;
  /** Reads the log again after an earlier result. */
  readonly read: (last: T) => Promise<T>;
  /**
   * Returns a promise that resolves when the log may have a new entry, or when the signal aborts. Returns undefined if
   * only polling finds new entries.
   */
  readonly nextEntry: (signal: AbortSignal) => Promise<void> | undefined;
}

/** Returns a signal that aborts when the log may have a new entry. */
const watch = (nextEntry: HeldRead<unknown>["nextEntry"], ended: AbortSignal): AbortSignal | undefined => {
  const woken = new AbortController();
  return nextEntry(ended)?.then(() => woken.abort()) && woken.signal;
};

export class HeldReads {
  readonly #clock: Clock;
  readonly #permits: KeyedSemaphore;
  readonly #closing = new AbortController();

  /** @param maxWaiting the maximum number of requests of an account that wait */
  constructor(clock: Clock, maxWaiting: number) {
    this.#clock = clock;
    this.#permits = new KeyedSemaphore(maxWaiting);
  }

  /** Returns true if a request of the account may wait. */
  isAvailable(account: AccountId): boolean {
    return !this.#closing.signal.aborted && this.#permits.isAvailable(account);
  }

  /** Reads repeatedly until a result ends the wait. The caller must check `isAvailable` first. */
  async hold<T>(first: T, { account, signal, waitMs, pauseAfter, read, nextEntry }: HeldRead<T>): Promise<T> {
    const permit = this.#permits.acquire(account);
    const began = this.#clock.now();
    const done = new AbortController();
    const ended = AbortSignal.any([this.#closing.signal, done.signal, ...(signal === undefined ? [] : [signal])]);
    try {
      let woken = watch(nextEntry, ended);
      // An entry may have arrived since the first read.
      let result = woken === undefined ? first : await read(first);
      for (let pause = pauseAfter(result); pause !== undefined; pause = pauseAfter(result)) {
        const waited = Number(this.#clock.now() - began) / 1e6;
        if (waited >= waitMs || ended.aborted) return result;
        const sleepMs = Math.min(Math.max(pause, quietPause(waited)), waitMs - waited);
        await this.#clock.sleep(sleepMs, woken === undefined ? ended : AbortSignal.any([ended, woken]));
        if (ended.aborted) return result;
        // After an entry has ended a pause, the next pause ignores new entries. This limits the reads of a busy log.
        woken = woken?.aborted ? undefined : (woken ?? watch(nextEntry, ended));
        result = await read(result);
      }
      return result;
    } finally {
      done.abort();
      permit.release();
    }
  }

  /** Ends all waits. Later requests do not wait. */
  close(): void {
    this.#closing.abort();
  }
}
