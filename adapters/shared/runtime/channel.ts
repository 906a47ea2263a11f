/** An async queue between a writer that pushes items and a reader that iterates them in order. */

/** How many items may be queued before `push` returns a promise, which lets a writer wait for the reader. */
const ROOM = 64;

export class Channel<T> implements AsyncIterable<T> {
  readonly #items: T[] = [];
  #ended = false;
  #isRead = true;
  #wake: (() => void) | undefined;
  #taken: PromiseWithResolvers<void> | undefined;

  /** Adds an item. The returned promise, if any, resolves when the reader has taken all items or stopped reading. */
  push(item: T): Promise<void> | undefined {
    this.#items.push(item);
    this.#wake?.();
    if (this.#items.length <= ROOM || !this.#isRead) return undefined;
    this.#taken ??= Promise.withResolvers();
    return this.#taken.promise;
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    try {
      for (;;) {
        while (this.#items.length > 0) yield this.#items.shift() as T;
        this.#goOn();
        if (this.#ended) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      this.#isRead = false;
      this.#goOn();
    }
  }

  #goOn(): void {
    this.#taken?.resolve();
    this.#taken = undefined;
  }
}

/** Reports progress. The returned promise, if any, resolves when the reader has taken all items or stopped reading. */
export type EmitProgress<P> = (progress: P) => Promise<void> | undefined;

/** Runs `work` and yields the progress that it reports, then its result. */
export async function* streamProgress<P, F>(work: (emit: EmitProgress<P>) => Promise<F>): AsyncGenerator<P | F> {
  const channel = new Channel<P | F>();
  const finish = async (): Promise<void> => {
    try {
      void channel.push(await work((progress) => channel.push(progress)));
    } finally {
      channel.end();
    }
  };
  const finished = finish();
  // The await below rethrows the rejection, after all earlier progress has been yielded.
  finished.catch(() => undefined);
  yield* channel;
  await finished;
}
