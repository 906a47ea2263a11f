/** Runs tasks with the same key one at a time, in order of arrival. Tasks with different keys run concurrently. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>();

  /** Runs `work` when the key is free. If `signal` aborts first, rejects with its reason and does not start `work`. */
  async take<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const { promise: over, resolve: leave } = Promise.withResolvers<void>();
    const before = this.#last.get(key);
    // After an aborted waiter leaves, the next waiter must still wait for the earlier ones.
    const mine = Promise.all([before, over]).then(() => {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    });
    this.#last.set(key, mine);
    const gone = Promise.withResolvers<void>();
    const leaveEarly = () => gone.resolve();
    signal.addEventListener("abort", leaveEarly);
    try {
      if (!signal.aborted) await Promise.race([before, gone.promise]);
      signal.throwIfAborted();
      return await work();
    } finally {
      signal.removeEventListener("abort", leaveEarly);
      leave();
    }
  }
}
