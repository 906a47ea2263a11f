/** Limits the rate of calls to a quota that all accounts share. */
import { millisOf } from "../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../core/ports/system.ts";

const MINUTE_MS = 60_000;
const SECOND_MS = 1000;

export class ReadLimiter {
  readonly #clock: Clock;
  readonly #perMinute: number;
  readonly #perSecond: number;
  /** The times of the last minute's calls and of the waiting calls, in milliseconds. */
  #made: number[] = [];

  /**
   * @param perMinute maximum number of calls in any 60 seconds
   * @param perSecond maximum number of calls in any second; defaults to no maximum
   */
  constructor(clock: Clock, perMinute: number, perSecond = Number.POSITIVE_INFINITY) {
    this.#clock = clock;
    this.#perMinute = perMinute;
    this.#perSecond = perSecond;
  }

  /** The milliseconds until the next call is permitted. */
  get wait(): number {
    const now = millisOf(this.#clock.now());
    this.#made = this.#made.filter((at) => at > now - MINUTE_MS);
    const until = (calls: number, windowMs: number) => (this.#made.at(-calls) ?? Number.NEGATIVE_INFINITY) + windowMs;
    return Math.max(0, until(this.#perMinute, MINUTE_MS) - now, until(this.#perSecond, SECOND_MS) - now);
  }

  /**
   * Resolves when a call is permitted. If that takes longer than `timeoutMs`, resolves immediately with the seconds to
   * wait before another attempt.
   */
  async take(timeoutMs: number, signal?: AbortSignal): Promise<number | undefined> {
    const { wait } = this;
    if (wait > timeoutMs) return Math.ceil(wait / 1000);
    this.#made.push(millisOf(this.#clock.now()) + wait);
    if (wait > 0) await this.#clock.sleep(wait, signal);
    return undefined;
  }
}
