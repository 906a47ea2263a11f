/** The accounts' processes: one each, a bound together, and none for an account that asks nothing. */
import type { AccountId } from "../../../core/domain/account.ts";
import { SqlChild } from "./process.ts";

export interface PoolConfig {
  readonly script: URL;
  readonly argsOf: (owner: AccountId) => readonly string[];
  /** Processes at once. */
  readonly most: number;
  readonly idleMillis: number;
  /** A folder of the platform's own where Node keeps the process's code compiled; it starts a third faster. */
  readonly compiled?: string;
}

interface Place {
  readonly child: Promise<SqlChild>;
  busy: boolean;
  idle: NodeJS.Timeout | undefined;
}

export class Busy extends Error {}

export class SqlPool {
  readonly #config: PoolConfig;
  /** The one that was used last is the last. */
  readonly #places = new Map<AccountId, Place>();
  #closed = false;

  constructor(config: PoolConfig) {
    this.#config = config;
  }

  /** Lends the account's process to some work; throws `Busy` where it, or every one there may be, is at work. */
  async with<T>(owner: AccountId, work: (child: SqlChild) => Promise<T>): Promise<T> {
    const { child, release } = await this.take(owner);
    try {
      return await work(child);
    } finally {
      release();
    }
  }

  async take(owner: AccountId): Promise<{ readonly child: SqlChild; release(): void }> {
    const place = this.#places.get(owner) ?? this.#make(owner);
    if (place.busy || this.#closed) throw new Busy();
    place.busy = true;
    clearTimeout(place.idle);
    this.#places.delete(owner);
    this.#places.set(owner, place);
    const release = () => this.#release(owner, place);
    try {
      const child = await place.child;
      if (!child.isOver) return { child, release: () => (child.isOver ? this.#drop(owner, place) : release()) };
    } catch (error) {
      this.#drop(owner, place);
      throw error;
    }
    this.#drop(owner, place);
    return this.take(owner);
  }

  /** The processes that run now. */
  async pids(): Promise<readonly (number | undefined)[]> {
    return (await Promise.all([...this.#places.values()].map(({ child }) => child))).map(({ pid }) => pid);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.endAll();
  }

  /** Ends every process; whoever asks again gets a new one. */
  async endAll(): Promise<void> {
    await Promise.all([...this.#places].map(([owner, place]) => this.#end(owner, place)));
  }

  #make(owner: AccountId): Place {
    this.#makeRoom();
    const { script, argsOf, compiled } = this.#config;
    const place: Place = { child: SqlChild.start(script, argsOf(owner), compiled), busy: false, idle: undefined };
    // Whoever asked for it is told; nobody else waits for it.
    place.child.catch(() => {});
    this.#places.set(owner, place);
    return place;
  }

  #makeRoom(): void {
    if (this.#places.size < this.#config.most) return;
    const idle = [...this.#places].find(([, place]) => !place.busy);
    if (idle === undefined) throw new Busy();
    void this.#end(...idle);
  }

  #release(owner: AccountId, place: Place): void {
    place.busy = false;
    if (this.#closed) return;
    place.idle = setTimeout(() => void this.#end(owner, place), this.#config.idleMillis).unref();
  }

  #drop(owner: AccountId, place: Place): void {
    clearTimeout(place.idle);
    if (this.#places.get(owner) === place) this.#places.delete(owner);
  }

  async #end(owner: AccountId, place: Place): Promise<void> {
    this.#drop(owner, place);
    const child = await place.child.catch(() => undefined);
    await child?.close();
  }
}
