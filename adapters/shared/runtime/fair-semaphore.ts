/** A semaphore that prefers the key with the fewest permits, and among equal keys the work that has waited longest. */

interface Waiter {
  readonly key: string;
  readonly begin: () => void;
}

export class FairSemaphore {
  readonly #permits: number;
  readonly #perKey: number;
  /** The number of permits that each key holds. */
  readonly #held = new Map<string, number>();
  readonly #waiting = new Set<Waiter>();

  /** @param perKey the maximum number of permits of one key */
  constructor(permits: number, perKey = 1) {
    this.#permits = permits;
    this.#perKey = perKey;
  }

  /** The amount of work that waits for a permit. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Runs the work once the key has a permit. Rejects without running the work if the signal aborts first. */
  async take<T>(key: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    await this.#acquire(key, signal);
    try {
      return await work();
    } finally {
      this.#held.set(key, this.#heldBy(key) - 1);
      if (this.#heldBy(key) === 0) this.#held.delete(key);
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

  #heldBy(key: string): number {
    return this.#held.get(key) ?? 0;
  }

  #next(): void {
    const taken = [...this.#held.values()].reduce((sum, held) => sum + held, 0);
    if (taken === this.#permits) return;
    let next: Waiter | undefined;
    for (const waiting of this.#waiting)
      if (this.#heldBy(waiting.key) < (next === undefined ? this.#perKey : this.#heldBy(next.key))) next = waiting;
    if (next === undefined) return;
    this.#waiting.delete(next);
    this.#held.set(next.key, this.#heldBy(next.key) + 1);
    next.begin();
    this.#next();
  }
}
