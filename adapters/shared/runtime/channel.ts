/** Events that one side pushes and the other iterates, in order, to the end. */

/** More waiting items than this hold a writer back that heeds it. */
const ROOM = 64;

export class Channel<T> implements AsyncIterable<T> {
  readonly #items: T[] = [];
  #ended = false;
  #isRead = true;
  #wake: (() => void) | undefined;
  #taken: PromiseWithResolvers<void> | undefined;

  /** The promise, if there is one, resolves when the reader has taken everything. */
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

/** Says how work goes. The promise, if there is one, resolves when the listener has caught up. */
export type Say<P> = (progress: P) => Promise<void> | undefined;

/** Runs `work` with a way to say how it goes, and iterates what it says, then what it returns. */
export async function* narrate<P, F>(work: (say: Say<P>) => Promise<F>): AsyncGenerator<P | F> {
  const channel = new Channel<P | F>();
  const finish = async (): Promise<void> => {
    try {
      void channel.push(await work((progress) => channel.push(progress)));
    } finally {
      channel.end();
    }
  };
  const finished = finish();
  // The rejection is reported by the await below, once what was said before is out.
  finished.catch(() => undefined);
  yield* channel;
  await finished;
}
