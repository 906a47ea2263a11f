/** A bounded pool with at most one process per account. Idle accounts have no process. */
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { ScriptMissing } from "../../runtime/packaged-script.ts";
import { ChildTrapped, SqlChild } from "./child.ts";

export interface PoolConfig {
  /** Null in a bundle, which cannot start the process. */
  readonly script: URL | null;
  readonly argsOf: (owner: AccountId) => readonly string[];
  /** Maximum number of processes. */
  readonly maxProcesses: number;
  readonly idleMillis: number;
  /** A folder for Node's compile cache, which makes the process start a third faster. */
  readonly compiled?: string;
}

/** How long to wait if all processes are busy. */
export interface Wait {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

interface ProcessSlot {
  child: Promise<SqlChild>;
  busy: boolean;
  idle: NodeJS.Timeout | undefined;
}

type Waiter = Pick<PromiseWithResolvers<ProcessSlot>, "resolve" | "reject">;

/** Thrown if no process became free in time, the waiting caller aborted, or the pool was closed. */
export class Busy extends Error {}

const closed = () => new Busy("The SQL engine is shutting down. Try again.");

export class SqlPool {
  readonly #config: PoolConfig;
  /** Sorted by last use, most recent last. */
  readonly #slots = new Map<AccountId, ProcessSlot>();
  /** Waiting callers by account, least recently served first, so that a busy account does not delay others. */
  readonly #waiting = new Map<AccountId, Waiter[]>();
  #closed = false;

  constructor(config: PoolConfig) {
    this.#config = config;
  }

  /**
   * Runs work with the account's process. If the parser traps, retries once in a new process, because earlier
   * statements may have used up the memory of the first process. Throws `Busy` if the work gets no process.
   */
  async with<T>(owner: AccountId, wait: Wait, work: (child: SqlChild) => Promise<T>): Promise<T> {
    try {
      return await this.#lend(owner, wait, work);
    } catch (error) {
      if (!(error instanceof ChildTrapped)) throw error;
      return this.#lend(owner, wait, work);
    }
  }

  /** Returns the ids of the running processes. */
  async pids(): Promise<readonly (number | undefined)[]> {
    return (await Promise.all([...this.#slots.values()].map(({ child }) => child))).map(({ pid }) => pid);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const waiters of this.#waiting.values()) for (const { reject } of waiters) reject(closed());
    this.#waiting.clear();
    await this.endAll();
  }

  /** Ends all processes. The next call starts a new one. */
  async endAll(): Promise<void> {
    await Promise.all([...this.#slots].map(([owner, slot]) => this.#end(owner, slot)));
  }

  async #lend<T>(owner: AccountId, wait: Wait, work: (child: SqlChild) => Promise<T>): Promise<T> {
    const slot = this.#take(owner) ?? (await this.#turn(owner, wait));
    let child: SqlChild | undefined;
    try {
      child = await slot.child;
      if (this.#closed) throw closed();
      if (child.isOver) child = await this.#start(owner, slot);
      return await work(child);
    } finally {
      this.#release(owner, slot, child);
    }
  }

  #start(owner: AccountId, slot: ProcessSlot): Promise<SqlChild> {
    const { script, argsOf, compiled } = this.#config;
    slot.child =
      script === null ? Promise.reject(new ScriptMissing("SQL")) : SqlChild.start(script, argsOf(owner), compiled);
    // The caller that waits for the child receives the rejection. This handler only prevents an unhandled rejection.
    slot.child.catch(() => {});
    return slot.child;
  }

  /**
   * Reserves the account's slot, and creates it if necessary. Returns undefined if the slot, or every slot, is busy.
   */
  #take(owner: AccountId): ProcessSlot | undefined {
    if (this.#closed) throw closed();
    const slot = this.#slots.get(owner) ?? this.#make(owner);
    if (slot === undefined || slot.busy) return undefined;
    slot.busy = true;
    clearTimeout(slot.idle);
    this.#slots.delete(owner);
    this.#slots.set(owner, slot);
    return slot;
  }

  #make(owner: AccountId): ProcessSlot | undefined {
    if (this.#slots.size >= this.#config.maxProcesses) {
      const idle = [...this.#slots].find(([, slot]) => !slot.busy);
      if (idle === undefined) return undefined;
      void this.#end(...idle);
    }
    const slot = { busy: false, idle: undefined } as unknown as ProcessSlot;
    void this.#start(owner, slot);
    return slot;
  }

  #turn(owner: AccountId, { timeoutMs, signal }: Wait): Promise<ProcessSlot> {
    const waiter = Promise.withResolvers<ProcessSlot>();
    this.#waiting.set(owner, [...(this.#waiting.get(owner) ?? []), waiter]);
    const leave = (words: string) => {
      const left = (this.#waiting.get(owner) ?? []).filter((one) => one !== waiter);
      if (left.length > 0) this.#waiting.set(owner, left);
      else this.#waiting.delete(owner);
      waiter.reject(new Busy(words));
    };
    const overdue = `No SQL process became free within ${timeoutMs / 1000} s, because other queries are running. Try again.`;
    const timer = setTimeout(() => leave(overdue), timeoutMs);
    const abort = () => leave("The query was cancelled.");
    signal?.addEventListener("abort", abort);
    if (signal?.aborted === true) abort();
    return waiter.promise.finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    });
  }

  /** Assigns free slots to waiting callers: accounts in turn, and each account's callers in order. */
  #serve(): void {
    if (this.#closed) return;
    for (const [owner, waiters] of [...this.#waiting]) {
      const slot = this.#take(owner);
      if (slot === undefined) continue;
      this.#waiting.delete(owner);
      if (waiters.length > 1) this.#waiting.set(owner, waiters.slice(1));
      waiters[0]?.resolve(slot);
    }
  }

  #release(owner: AccountId, slot: ProcessSlot, child: SqlChild | undefined): void {
    slot.busy = false;
    const isKept = child?.isOver === false && this.#slots.get(owner) === slot && !this.#closed;
    if (isKept) slot.idle = setTimeout(() => void this.#end(owner, slot), this.#config.idleMillis).unref();
    else void this.#end(owner, slot);
    this.#serve();
  }

  async #end(owner: AccountId, slot: ProcessSlot): Promise<void> {
    clearTimeout(slot.idle);
    if (this.#slots.get(owner) === slot) this.#slots.delete(owner);
    const child = await slot.child.catch(() => undefined);
    await child?.close();
  }
}
