/** Times of what is written down, each later than the one before, so that a writer's entries keep their order. */
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
