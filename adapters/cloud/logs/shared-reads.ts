/** Shares a read among equal requests made at about the same time, so several followers of a log cause one poll. */
import { millisOf } from "../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../core/ports/system.ts";

interface Kept<T> {
  readonly at: number;
  readonly until: bigint;
  readonly value: Promise<T>;
}

export class SharedReads<T> {
  readonly #clock: Clock;
  readonly #millis: number;
  readonly #kept = new Map<string, Kept<T>>();

  /** @param millis how long requests may share a result, in milliseconds */
  constructor(clock: Clock, millis: number) {
    this.#clock = clock;
    this.#millis = millis;
  }

  /**
   * @param until upper bound of the request. The request shares only results whose bound is not higher.
   * @param isGood returns true if later requests may share the result. Requests also share a read that is still
   * running.
   */
  read(key: string, until: bigint, work: () => Promise<T>, isGood: (value: T) => boolean): Promise<T> {
    const now = millisOf(this.#clock.now());
    for (const [one, { at }] of this.#kept) if (now - at >= this.#millis) this.#kept.delete(one);
    const known = this.#kept.get(key);
    if (known !== undefined && known.until <= until) return known.value;
    const value = work();
    const kept = { at: now, until, value };
    this.#kept.set(key, kept);
    const forget = () => {
      if (this.#kept.get(key) === kept) this.#kept.delete(key);
    };
    value.then((settled) => (isGood(settled) ? undefined : forget()), forget);
    return value;
  }

  /** Forgets the results of requests whose keys have this prefix. */
  forget(prefix: string): void {
    for (const key of this.#kept.keys()) if (key.startsWith(prefix)) this.#kept.delete(key);
  }
}
