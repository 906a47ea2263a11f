/** One read for all who ask the same at about the same time: tails of one log by several people are one poll. */
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

  /** @param millis for how long an answer is also another's */
  constructor(clock: Clock, millis: number) {
    this.#clock = clock;
    this.#millis = millis;
  }

  /**
   * @param until what the question reaches to; the answer to one that reached less far will do, never to one that reached
   * further
   * @param isGood whether an answer may be shared once it is there; until then, everybody waits for it
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

  /** Forgets the answers to questions that begin so. */
  forget(prefix: string): void {
    for (const key of this.#kept.keys()) if (key.startsWith(prefix)) this.#kept.delete(key);
  }
}
