/** Limits calls per minute to a quota that all tenants share. */
import { millisOf } from "../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../core/ports/system.ts";

const MINUTE_MS = 60_000;

export class ReadLimiter {
  readonly #clock: Clock;
  readonly #perMinute: number;
  /** The times of the calls of the last minute, and of the calls that wait, in milliseconds. */
  #made: number[] = [];

  /** @param perMinute maximum number of calls in any 60 seconds */
  constructor(clock: Clock, perMinute: number) {
    this.#clock = clock;
    this.#perMinute = perMinute;
  }

  /** The milliseconds until the next call is permitted. */
  get wait(): number {
    const now = millisOf(this.#clock.now());
    this.#made = this.#made.filter((at) => at > now - MINUTE_MS);
    const oldest = this.#made.at(-this.#perMinute);
    return oldest === undefined ? 0 : Math.max(0, oldest + MINUTE_MS - now);
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
