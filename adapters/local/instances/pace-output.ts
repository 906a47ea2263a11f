/**
 * Limits how fast this process reads output. This process also serves requests, so one writer may take at most 15
 * percent of its time. Reading a pipe slowly blocks its writer. A `Brake` stops writers that do not write to a pipe.
 */
import { setTimeout as sleep } from "node:timers/promises";

/** The share of this process's time for one output. Unused time accumulates up to `BURST_MS`. */
const SHARE = 0.15;
const BURST_MS = 50;
/** The maximum time to count for one chunk. Anything longer was mostly spent waiting. */
const MAX_WORK_MS = 5;

/** Stops and resumes a writer that a full pipe does not block. */
export interface Brake {
  pause(): void;
  resume(): void;
}

/** The reader is behind if it spent less than `BEHIND_SHARE` of this time waiting for output. */
const BEHIND_MS = 250;
const BEHIND_SHARE = 0.15;
/** The reader has caught up if it waited this long for a chunk. */
const CAUGHT_UP_MS = 20;

/** Pauses a writer while its reader is behind. A reader that seldom waits for output is behind. */
class Backpressure {
  readonly #brake: Brake;
  #since = performance.now();
  #waited = 0;
  #paused = false;

  constructor(brake: Brake) {
    this.#brake = brake;
  }

  /** Fetches the next chunk and measures the wait. */
  async watch<T>(next: () => Promise<T>): Promise<T> {
    const asked = performance.now();
    const caughtUp = setTimeout(() => this.resume(), CAUGHT_UP_MS);
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
    if (this.#waited / watched < BEHIND_SHARE && !this.#paused) {
      this.#paused = true;
      this.#brake.pause();
    }
    this.#since = performance.now();
    this.#waited = 0;
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#brake.resume();
  }
}

/** A token bucket that limits the share of this process's time for one output. */
export class Allowance {
  #left = BURST_MS;
  #since = performance.now();

  /**
   * Counts work that has just ended. If the bucket is empty, returns a promise that resolves when reading may continue.
   * @param millis the elapsed time
   * @param work the part of `millis` that counts
   */
  spend(millis: number, work = millis): Promise<void> | undefined {
    const now = performance.now();
    const idle = Math.max(0, now - millis - this.#since);
    this.#left = Math.min(BURST_MS, this.#left + idle * SHARE) - work;
    this.#since = now;
    return this.#left < 0 ? sleep(-this.#left / SHARE) : undefined;
  }
}

/** Yields the chunks of an output. Pauses after a chunk if the consumer spends too much time processing chunks. */
export async function* paceOutput(pieces: AsyncIterable<Buffer>, brake?: Brake): AsyncGenerator<Buffer> {
  const iterator = pieces[Symbol.asyncIterator]();
  const pressure = brake === undefined ? undefined : new Backpressure(brake);
  const next = () => iterator.next();
  const allowance = new Allowance();
  try {
    for (;;) {
      const piece = await (pressure === undefined ? next() : pressure.watch(next));
      if (piece.done === true) return;
      const begun = performance.now();
      let ended: number | undefined;
      // The consumer has finished its work, or waits for something, when the event loop continues.
      const turn = setImmediate(() => {
        ended = performance.now();
      });
      yield piece.value;
      clearImmediate(turn);
      const millis = (ended ?? performance.now()) - begun;
      await allowance.spend(millis, Math.min(millis, MAX_WORK_MS));
    }
  } finally {
    pressure?.resume();
    await iterator.return?.();
  }
}
