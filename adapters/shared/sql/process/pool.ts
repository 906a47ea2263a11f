/** The accounts' processes: one each, a bound together, and none for an account that asks nothing. */
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { ScriptMissing } from "../../runtime/packaged-script.ts";
import { ChildTrapped, SqlChild } from "./child.ts";

export interface PoolConfig {
  /** Null in a bundle: no process can be started. */
  readonly script: URL | null;
  readonly argsOf: (owner: AccountId) => readonly string[];
  /** Processes at once. */
  readonly most: number;
  readonly idleMillis: number;
  /** A folder of the platform's own where Node keeps the process's code compiled; it starts a third faster. */
  readonly compiled?: string;
}

/** How long to wait for a process where every one there may be is at work. */
export interface Wait {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

interface Place {
  child: Promise<SqlChild>;
  busy: boolean;
  idle: NodeJS.Timeout | undefined;
}

interface Waiter {
  readonly admit: (place: Place) => void;
  readonly refuse: (error: Busy) => void;
}

/** No process became free. */
export class Busy extends Error {}

const closed = () => new Busy("The SQL engine is shutting down; try again.");

export class SqlPool {
  readonly #config: PoolConfig;
  /** The one that was used last is the last. */
  readonly #places = new Map<AccountId, Place>();
  /** By account, the one that was served last at the end: an account that asks much does not keep others waiting. */
  readonly #waiting = new Map<AccountId, Waiter[]>();
  #closed = false;

  constructor(config: PoolConfig) {
    this.#config = config;
  }

  /**
   * Lends the account's process to some work, once more to the same work where the parser failed in the first: that process was
   * worn, or the statement is too much for any. Throws `Busy` where none became free in time.
   */
  async with<T>(owner: AccountId, wait: Wait, work: (child: SqlChild) => Promise<T>): Promise<T> {
    try {
      return await this.#lend(owner, wait, work);
    } catch (error) {
      if (!(error instanceof ChildTrapped)) throw error;
      return this.#lend(owner, wait, work);
    }
  }

  /** The processes that run now. */
  async pids(): Promise<readonly (number | undefined)[]> {
    return (await Promise.all([...this.#places.values()].map(({ child }) => child))).map(({ pid }) => pid);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const waiters of this.#waiting.values()) for (const { refuse } of waiters) refuse(closed());
    this.#waiting.clear();
    await this.endAll();
  }

  /** Ends every process; the next work gets a new one. */
  async endAll(): Promise<void> {
    await Promise.all([...this.#places].map(([owner, place]) => this.#end(owner, place)));
  }

  async #lend<T>(owner: AccountId, wait: Wait, work: (child: SqlChild) => Promise<T>): Promise<T> {
    const place = this.#take(owner) ?? (await this.#turn(owner, wait));
    let child: SqlChild | undefined;
    try {
      child = await place.child;
      if (this.#closed) throw closed();
      if (child.isOver) child = await this.#start(owner, place);
      return await work(child);
    } finally {
      this.#release(owner, place, child);
    }
  }

  #start(owner: AccountId, place: Place): Promise<SqlChild> {
    const { script, argsOf, compiled } = this.#config;
    place.child =
      script === null ? Promise.reject(new ScriptMissing("SQL")) : SqlChild.start(script, argsOf(owner), compiled);
    // The work that it was started for is told; nothing else waits for it.
    place.child.catch(() => {});
    return place.child;
  }

  /** Reserves the account's place, or makes one; undefined where it, or every one there may be, is at work. */
  #take(owner: AccountId): Place | undefined {
    if (this.#closed) throw closed();
    const place = this.#places.get(owner) ?? this.#make(owner);
    if (place === undefined || place.busy) return undefined;
    place.busy = true;
    clearTimeout(place.idle);
    this.#places.delete(owner);
    this.#places.set(owner, place);
    return place;
  }

  #make(owner: AccountId): Place | undefined {
    if (this.#places.size >= this.#config.most) {
      const idle = [...this.#places].find(([, place]) => !place.busy);
      if (idle === undefined) return undefined;
      void this.#end(...idle);
    }
    const place = { busy: false, idle: undefined } as unknown as Place;
    void this.#start(owner, place).catch(() => {});
    return place;
  }

  #turn(owner: AccountId, { timeoutMs, signal }: Wait): Promise<Place> {
    const { promise, resolve: admit, reject: refuse } = Promise.withResolvers<Place>();
    const waiter: Waiter = { admit, refuse };
    const waiters = this.#waiting.get(owner);
    if (waiters === undefined) this.#waiting.set(owner, [waiter]);
    else waiters.push(waiter);
    const leave = (words: string) => {
      const left = (this.#waiting.get(owner) ?? []).filter((one) => one !== waiter);
      if (left.length > 0) this.#waiting.set(owner, left);
      else this.#waiting.delete(owner);
      refuse(new Busy(words));
    };
    const overdue = `No SQL process became free within ${timeoutMs / 1000} s: other queries run; try again.`;
    const timer = setTimeout(() => leave(overdue), timeoutMs);
    const abort = () => leave("The client has gone.");
    signal?.addEventListener("abort", abort);
    if (signal?.aborted === true) abort();
    return promise.finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    });
  }

  /** Gives what became free to those who wait: an account after another, each account's in their order. */
  #serve(): void {
    if (this.#closed) return;
    for (const [owner, waiters] of [...this.#waiting]) {
      const place = this.#take(owner);
      if (place === undefined) continue;
      this.#waiting.delete(owner);
      if (waiters.length > 1) this.#waiting.set(owner, waiters.slice(1));
      waiters[0]?.admit(place);
    }
  }

  #release(owner: AccountId, place: Place, child: SqlChild | undefined): void {
    place.busy = false;
    const isKept = child?.isOver === false && this.#places.get(owner) === place && !this.#closed;
    if (isKept) place.idle = setTimeout(() => void this.#end(owner, place), this.#config.idleMillis).unref();
    else void this.#end(owner, place);
    this.#serve();
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
