/** A fair semaphore: the longest waiting key is next, but no key holds two places at once. */

interface Waiting {
  readonly who: string;
  readonly begin: () => void;
}

export class FairSemaphore {
  readonly #places: number;
  readonly #having = new Set<string>();
  readonly #waiting = new Set<Waiting>();

  constructor(places: number) {
    this.#places = places;
  }

  /** Runs the work when its turn comes; never starts it if the signal aborts first. */
  async take<T>(who: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    await this.#turn(who, signal);
    try {
      return await work();
    } finally {
      this.#having.delete(who);
      this.#next();
    }
  }

  #turn(who: string, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        signal?.removeEventListener("abort", giveUp);
        resolve();
      };
      const waiting = { who, begin };
      const giveUp = () => {
        if (this.#waiting.delete(waiting)) reject(signal?.reason);
      };
      signal?.addEventListener("abort", giveUp, { once: true });
      this.#waiting.add(waiting);
      this.#next();
    });
  }

  #next(): void {
    for (const waiting of this.#waiting) {
      if (this.#having.size === this.#places) return;
      if (this.#having.has(waiting.who)) continue;
      this.#waiting.delete(waiting);
      this.#having.add(waiting.who);
      waiting.begin();
    }
  }
}
