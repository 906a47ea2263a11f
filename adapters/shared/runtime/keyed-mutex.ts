/** Work under one key, one at a time and in the order of arrival; work under other keys goes on beside it. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>();

  /** Rejects with the signal's reason where it aborts before the turn has come; the work is then never begun. */
  async take<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const { promise: over, resolve: leave } = Promise.withResolvers<void>();
    const before = this.#last.get(key);
    // One that leaves early must not let the next one overtake those before it.
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
