/** A clock whose times increase strictly, so that the entries of one writer keep their order. */
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../core/ports/system.ts";

export class RisingClock {
  readonly #clock: Clock;
  #last = 0n;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  next(): Instant {
    const now = this.#clock.now();
    this.#last = now > this.#last ? now : this.#last + 1n;
    return this.#last as Instant;
  }
}
