/** A semaphore that gives a permit to the key that has waited longest. A key holds at most one permit at a time. */

interface Waiter {
  readonly key: string;
  readonly begin: () => void;
}

export class FairSemaphore {
  readonly #permits: number;
  readonly #holders = new Set<string>();
  readonly #waiting = new Set<Waiter>();

  constructor(permits: number) {
    this.#permits = permits;
  }

  /** Runs the work once the key has a permit. Rejects without running the work if the signal aborts first. */
  async take<T>(key: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    await this.#acquire(key, signal);
    try {
      return await work();
    } finally {
      this.#holders.delete(key);
      this.#next();
    }
  }

  async #acquire(key: string, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const { promise, resolve: begin, reject } = Promise.withResolvers<void>();
    const waiting = { key, begin };
    const giveUp = () => {
      if (this.#waiting.delete(waiting)) reject(signal?.reason);
    };
    signal?.addEventListener("abort", giveUp);
    this.#waiting.add(waiting);
    this.#next();
    await promise.finally(() => signal?.removeEventListener("abort", giveUp));
  }

  #next(): void {
    for (const waiting of this.#waiting) {
      if (this.#holders.size === this.#permits) return;
      if (this.#holders.has(waiting.key)) continue;
      this.#waiting.delete(waiting);
      this.#holders.add(waiting.key);
      waiting.begin();
    }
  }
}
