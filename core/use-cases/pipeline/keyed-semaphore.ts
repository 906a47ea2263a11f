/** A first-in, first-out semaphore per key. Limits, for example, the deploys per name and the builds per account. */

export interface Permit {
  /** Resolves when the permit is granted. */
  readonly whenGranted: Promise<void>;
  /** Stays true after `release`. */
  readonly granted: boolean;
  /** Releases a granted permit, or removes a waiting permit from the queue. Idempotent. */
  release(): void;
}

interface QueuedPermit extends Permit {
  granted: boolean;
  grant: () => void;
}

export class KeyedSemaphore {
  readonly #capacity: number;
  /** The granted permits of each key, then the waiting ones. */
  readonly #permits = new Map<string, QueuedPermit[]>();

  /** @param capacity the maximum number of granted permits per key */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Returns the number of waiting permits of a key. */
  waiting(key: string): number {
    return this.#permits.get(key)?.filter((permit) => !permit.granted).length ?? 0;
  }

  /** Returns the number of granted permits of a key that are not released. */
  granted(key: string): number {
    return this.#permits.get(key)?.filter((permit) => permit.granted).length ?? 0;
  }

  /** Returns true if `acquire` would grant a permit immediately. */
  isAvailable(key: string): boolean {
    return (this.#permits.get(key)?.length ?? 0) < this.#capacity;
  }

  /** Runs `work` with a permit. Returns undefined if `acquire` would not grant one immediately. */
  runIfAvailable<T>(key: string, work: () => PromiseLike<T>): Promise<T> | undefined {
    return this.isAvailable(key) ? this.#runWith(this.acquire(key), work) : undefined;
  }

  /** Waits for a permit, then runs `work`. */
  run<T>(key: string, work: () => PromiseLike<T>): Promise<T> {
    return this.#runWith(this.acquire(key), work);
  }

  async #runWith<T>(permit: Permit, work: () => PromiseLike<T>): Promise<T> {
    try {
      await permit.whenGranted;
      return await work();
    } finally {
      permit.release();
    }
  }

  acquire(key: string): Permit {
    const permits = this.#permits.get(key) ?? [];
    this.#permits.set(key, permits);
    const { promise, resolve } = Promise.withResolvers<void>();
    const permit: QueuedPermit = {
      whenGranted: promise,
      granted: false,
      grant: () => {
        permit.granted = true;
        resolve();
      },
      release: () => this.#release(key, permit),
    };
    permits.push(permit);
    this.#grantNext(permits);
    return permit;
  }

  #release(key: string, permit: QueuedPermit): void {
    const permits = this.#permits.get(key);
    const index = permits?.indexOf(permit) ?? -1;
    if (permits === undefined || index < 0) return;
    permits.splice(index, 1);
    if (permits.length === 0) this.#permits.delete(key);
    this.#grantNext(permits);
  }

  #grantNext(permits: QueuedPermit[]): void {
    for (const permit of permits.slice(0, this.#capacity)) if (!permit.granted) permit.grant();
  }
}
