/** A quota of calls a minute that all tenants share: nobody's search may take what the next one needs unseen. */
import { millisOf } from "../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../core/ports/system.ts";

const MINUTE_MS = 60_000;

export class ReadLimiter {
  readonly #clock: Clock;
  readonly #perMinute: number;
  /** When the calls of the last minute were made, and those that wait will be; in milliseconds. */
  #made: number[] = [];

  /** @param perMinute calls in any sixty seconds */
  constructor(clock: Clock, perMinute: number) {
    this.#clock = clock;
    this.#perMinute = perMinute;
  }

  /** Milliseconds until a call may be made. */
  get wait(): number {
    const now = millisOf(this.#clock.now());
    this.#made = this.#made.filter((at) => at > now - MINUTE_MS);
    const oldest = this.#made.at(-this.#perMinute);
    return oldest === undefined ? 0 : Math.max(0, oldest + MINUTE_MS - now);
  }

  /**
   * Resolves when a call may be made; where none may within `timeoutMs` milliseconds, at once with the seconds after which
   * one may.
   */
  async take(timeoutMs: number, signal?: AbortSignal): Promise<number | undefined> {
    const { wait } = this;
    if (wait > timeoutMs) return Math.ceil(wait / 1000);
    this.#made.push(millisOf(this.#clock.now()) + wait);
    if (wait > 0) await this.#clock.sleep(wait, signal);
    return undefined;
  }
}
