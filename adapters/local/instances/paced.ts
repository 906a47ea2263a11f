/**
 * Output as it is taken in: no writer gets more than a seventh of this process's time, which serves everybody's requests
 * besides. A pipe that is read more slowly holds its writer back by itself; who else writes is told.
 */
import { setTimeout as sleep } from "node:timers/promises";

/** Of this process's time, for one output; what is left over is kept for so many milliseconds of work at once. */
const SHARE = 0.15;
const BURST_MS = 50;
/** A piece that took longer was waited for, in the main. */
const MOST_WORK_MS = 5;

/** Holds a writer back that no pipe does, and lets it go on. */
export interface Brake {
  hold(): void;
  release(): void;
}

/** Behind: for so long there was always something to read. */
const BEHIND_MS = 250;
const BEHIND_SHARE = 0.15;
/** Caught up: for so long there was nothing. */
const CAUGHT_UP_MS = 20;

/** Judges from the time that a reader waits whether its writer is ahead of it. */
class Pressure {
  readonly #brake: Brake;
  #since = performance.now();
  #waited = 0;
  #held = false;

  constructor(brake: Brake) {
    this.#brake = brake;
  }

  /** Calls what brings the next piece, and watches how long that takes. */
  async watch<T>(next: () => Promise<T>): Promise<T> {
    const asked = performance.now();
    const caughtUp = setTimeout(() => this.release(), CAUGHT_UP_MS);
    try {
      return await next();
    } finally {
      clearTimeout(caughtUp);
      this.#judge(performance.now() - asked);
    }
  }

  #judge(waited: number): void {
    this.#waited += waited;
    const watched = performance.now() - this.#since;
    if (watched < BEHIND_MS) return;
    if (this.#waited / watched < BEHIND_SHARE && !this.#held) {
      this.#held = true;
      this.#brake.hold();
    }
    this.#since = performance.now();
    this.#waited = 0;
  }

  release(): void {
    if (!this.#held) return;
    this.#held = false;
    this.#brake.release();
  }
}

/** The time of this process that one output may still take. */
export class Allowance {
  #left = BURST_MS;
  #since = performance.now();

  /**
   * Counts work that has just ended. The promise, if there is one, resolves when the output may go on.
   * @param millis what it took in all
   * @param work what of it counts
   */
  spend(millis: number, work = millis): Promise<void> | undefined {
    const now = performance.now();
    const idle = Math.max(0, now - millis - this.#since);
    this.#left = Math.min(BURST_MS, this.#left + idle * SHARE) - work;
    this.#since = now;
    return this.#left < 0 ? sleep(-this.#left / SHARE) : undefined;
  }
}

/** The pieces of an output; one that goes on and on gets rests in between. */
export async function* paced(pieces: AsyncIterable<Buffer>, brake?: Brake): AsyncGenerator<Buffer> {
  const iterator = pieces[Symbol.asyncIterator]();
  const pressure = brake === undefined ? undefined : new Pressure(brake);
  const next = () => iterator.next();
  const allowance = new Allowance();
  try {
    for (;;) {
      const piece = await (pressure === undefined ? next() : pressure.watch(next));
      if (piece.done === true) return;
      const begun = performance.now();
      yield piece.value;
      const millis = performance.now() - begun;
      await allowance.spend(millis, Math.min(millis, MOST_WORK_MS));
    }
  } finally {
    pressure?.release();
    await iterator.return?.();
  }
}
