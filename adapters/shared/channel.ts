/** Events that one side pushes and the other iterates, in order, to the end. */
export class Channel<T> implements AsyncIterable<T> {
  readonly #items: T[] = [];
  #ended = false;
  #wake: (() => void) | undefined;

  push(item: T): void {
    this.#items.push(item);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      while (this.#items.length > 0) yield this.#items.shift() as T;
      if (this.#ended) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

/** Runs `work` with a way to say how it goes, and iterates what it says, then what it returns. */
export async function* narrate<P, F>(work: (say: (progress: P) => void) => Promise<F>): AsyncGenerator<P | F> {
  const channel = new Channel<P | F>();
  const finish = async (): Promise<void> => {
    try {
      channel.push(await work((progress) => channel.push(progress)));
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
