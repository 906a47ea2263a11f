/**
 * Manages the instances of one revision. A pool starts instances for waiting requests, fills them to the declared
 * concurrency, stops idle instances, and drains when another revision takes over.
 */
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { Instance } from "../instances/instance.ts";
import type { Exit } from "../sandbox/runner.ts";
import { PooledInstance } from "./pooled-instance.ts";
import { chooseInstance, instancesToStart } from "./scale.ts";

export interface PoolConfig {
  readonly concurrency: number;
  readonly maxInstances: number;
  readonly idleMillis: number;
  readonly queueLimit: number;
  /** Milliseconds that a request may wait for a place. */
  readonly waitMillis: number;
  readonly start: (signal: AbortSignal) => Promise<Instance | DeployFailure>;
  /** Takes one instance from the account's budget; returns false if none is left. */
  readonly acquireBudget: () => boolean;
  readonly releaseBudget: () => void;
  readonly onStarted: (instance: Instance, millis: number) => void;
  readonly onIdle: (instance: Instance) => void;
  readonly onUnreachable: (instance: Instance) => void;
  readonly onCrashed: (instance: Instance, exit: Exit) => void;
}

export type Refusal =
  | { readonly kind: "full" }
  | { readonly kind: "waited_too_long" }
  | { readonly kind: "did_not_start"; readonly failure: DeployFailure }
  /** Another revision has taken over. The caller must try its pool. */
  | { readonly kind: "retired" }
  | { readonly kind: "client_gone" };

/** A place in an instance for one request. */
export interface Lease {
  readonly pooled: PooledInstance;
  release(): void;
}

interface Waiter {
  readonly affinity: string | undefined;
  readonly resolve: (outcome: Lease | Refusal) => void;
}

/** Delays after consecutive failed starts, in milliseconds. */
const BACKOFF_MS = [0, 500, 1000, 2000, 5000, 10_000];

/**
 * An instance that refuses connections is probably exiting. The pool waits this long before it stops the instance,
 * because a signal would hide the exit code.
 */
const ENDING_MS = 1000;

/** While the account's instance budget is used up, waiting requests retry at this interval. */
const BUDGET_RETRY_MS = 500;

export class Pool {
  readonly #config: PoolConfig;
  readonly #instances: PooledInstance[] = [];
  readonly #queue: Waiter[] = [];
  readonly #closing = new AbortController();
  readonly #starts = new Set<Promise<void>>();
  #starting = 0;
  #failures = 0;
  #failedAt = 0;
  #lastFailure: DeployFailure | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  #scaleTimer: NodeJS.Timeout | undefined;
  #retired = false;

  constructor(config: PoolConfig) {
    this.#config = config;
  }

  /** Number of instances that are running or starting. */
  get size(): number {
    return this.#instances.length + this.#starting;
  }

  /** The number of instances in each state, and the number of waiting requests. */
  get load(): { readonly starting: number; readonly busy: number; readonly idle: number; readonly waiting: number } {
    const busy = this.#instances.filter((pooled) => pooled.active > 0).length;
    return { starting: this.#starting, busy, idle: this.#instances.length - busy, waiting: this.#queue.length };
  }

  get active(): number {
    return this.#instances.reduce((sum, pooled) => sum + pooled.active, 0);
  }

  /** Adds an instance that a rollout has started and already counted against the account's budget. */
  add(instance: Instance): void {
    this.#join(new PooledInstance(instance));
  }

  /** Returns a place immediately, or undefined if none is free. */
  tryAcquire(affinity?: string): Lease | undefined {
    if (this.#retired || this.#queue.length > 0) return undefined;
    return this.#place(affinity);
  }

  /** Waits for a place. */
  acquire(affinity: string | undefined, signal: AbortSignal): Promise<Lease | Refusal> {
    const now = this.tryAcquire(affinity);
    if (now !== undefined) return Promise.resolve(now);
    if (this.#retired) return Promise.resolve({ kind: "retired" });
    // If no instance runs, one request may wait despite the limit, because it starts the service.
    if (this.#queue.length >= Math.max(this.#config.queueLimit, this.size === 0 ? 1 : 0))
      return Promise.resolve({ kind: "full" });
    return new Promise((resolve) => {
      const leave = (outcome: Lease | Refusal) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", gone);
        resolve(outcome);
      };
      const waiter: Waiter = { affinity, resolve: leave };
      const evict = (refusal: Refusal) => {
        const index = this.#queue.indexOf(waiter);
        if (index < 0) return;
        this.#queue.splice(index, 1);
        leave(refusal);
      };
      const gone = () => evict({ kind: "client_gone" });
      const timer = setTimeout(() => evict({ kind: "waited_too_long" }), this.#config.waitMillis);
      signal.addEventListener("abort", gone);
      this.#queue.push(waiter);
      this.#scale();
    });
  }

  /**
   * Takes no new requests, sends waiting ones to the next revision, and stops each instance when its requests have
   * ended or `drainMillis` have passed. Resolves when no instance is left.
   */
  async retire(drainMillis: number): Promise<void> {
    this.#retired = true;
    clearTimeout(this.#idleTimer);
    this.#closing.abort();
    for (const waiter of this.#queue.splice(0)) waiter.resolve({ kind: "retired" });
    await Promise.all(this.#starts);
    const deadline = Date.now() + drainMillis;
    for (const pooled of [...this.#instances]) if (pooled.active === 0) void this.#stop(pooled);
    while (this.#instances.some((pooled) => pooled.active > 0) && Date.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 20));
    await Promise.all([...this.#instances].map((pooled) => this.#stop(pooled)));
  }

  /** Sends no more requests to an instance that does not listen. Stops it if its processes do not exit soon. */
  giveUp(pooled: PooledInstance): void {
    if (pooled.leaving) return;
    pooled.leaving = true;
    const timer = setTimeout(() => {
      if (pooled.stopping || pooled.instance.processes().length === 0) return;
      this.#config.onUnreachable(pooled.instance);
      void this.#stop(pooled);
    }, ENDING_MS);
    void pooled.instance.exited.then(() => clearTimeout(timer));
  }

  #place(affinity: string | undefined): Lease | undefined {
    const open = this.#instances.filter((pooled) => !pooled.leaving);
    const { concurrency } = this.#config;
    const bound = affinity === undefined ? undefined : open.find((pooled) => pooled.instance.id === affinity);
    if (bound !== undefined && bound.active < concurrency) return this.#lease(bound);
    const index = chooseInstance(
      open.map((pooled) => pooled.active),
      concurrency,
    );
    return index === undefined ? undefined : this.#lease(open[index] as PooledInstance);
  }

  #lease(pooled: PooledInstance): Lease {
    pooled.active++;
    let held = true;
    return {
      pooled,
      release: () => {
        if (!held) return;
        held = false;
        pooled.active--;
        pooled.idleSince = Date.now();
        if (this.#retired) {
          if (pooled.active === 0) void this.#stop(pooled);
        } else {
          this.#serveQueue();
          this.#watchIdle();
        }
      },
    };
  }

  #serveQueue(): void {
    while (this.#queue.length > 0) {
      const lease = this.#place(this.#queue[0]?.affinity);
      if (lease === undefined) break;
      this.#queue.shift()?.resolve(lease);
    }
    this.#scale();
  }

  #scale(): void {
    if (this.#retired || this.#queue.length === 0) return;
    const wait =
      (BACKOFF_MS[Math.min(this.#failures, BACKOFF_MS.length - 1)] as number) - (Date.now() - this.#failedAt);
    if (wait > 0 && this.#lastFailure !== undefined) {
      // Instances that run or start will serve the waiting requests.
      if (this.size > 0) this.#scaleLater(wait);
      else this.#refuseAll(this.#lastFailure);
      return;
    }
    const { concurrency, maxInstances } = this.#config;
    const load = {
      waiting: this.#queue.length,
      starting: this.#starting,
      ready: this.#instances.length,
      concurrency,
      maxInstances,
    };
    for (let count = instancesToStart(load); count > 0; count--) if (!this.#startOne()) return;
  }

  #refuseAll(failure: DeployFailure): void {
    for (const waiter of this.#queue.splice(0)) waiter.resolve({ kind: "did_not_start", failure });
  }

  #startOne(): boolean {
    if (!this.#config.acquireBudget()) {
      this.#scaleLater(BUDGET_RETRY_MS);
      return false;
    }
    this.#starting++;
    const begun = Date.now();
    const start = this.#config.start(this.#closing.signal).then((outcome) => {
      this.#starting--;
      this.#starts.delete(start);
      if ("reason" in outcome) return this.#failed(outcome);
      this.#failures = 0;
      this.#config.onStarted(outcome, Date.now() - begun);
      this.#join(new PooledInstance(outcome));
      if (!this.#retired) this.#serveQueue();
    });
    this.#starts.add(start);
    return true;
  }

  #failed(failure: DeployFailure): void {
    this.#config.releaseBudget();
    if (this.#retired) return;
    this.#failures++;
    this.#failedAt = Date.now();
    this.#lastFailure = failure;
    this.#scale();
  }

  #scaleLater(millis: number): void {
    this.#scaleTimer ??= setTimeout(() => {
      this.#scaleTimer = undefined;
      this.#scale();
    }, millis).unref();
  }

  #join(pooled: PooledInstance): void {
    this.#instances.push(pooled);
    void pooled.instance.exited.then((exit) => this.#left(pooled, exit));
    this.#watchIdle();
  }

  #left(pooled: PooledInstance, exit: Exit): void {
    const index = this.#instances.indexOf(pooled);
    if (index < 0) return;
    this.#instances.splice(index, 1);
    this.#config.releaseBudget();
    pooled.closeConnections();
    if (!pooled.stopping) this.#config.onCrashed(pooled.instance, exit);
    this.#scale();
  }

  async #stop(pooled: PooledInstance): Promise<void> {
    pooled.leaving = true;
    pooled.stopping = true;
    const exit = await pooled.instance.stop();
    this.#left(pooled, exit);
  }

  /** Scales to zero. The pool has one timer, which expires when the next instance has been idle for `idleMillis`. */
  #watchIdle(): void {
    if (this.#idleTimer !== undefined || this.#retired) return;
    const idle = this.#instances.filter((pooled) => pooled.active === 0 && !pooled.leaving);
    if (idle.length === 0) return;
    const due = Math.min(...idle.map((pooled) => pooled.idleSince)) + this.#config.idleMillis;
    const look = () => {
      this.#idleTimer = undefined;
      const before = Date.now() - this.#config.idleMillis;
      for (const pooled of this.#instances)
        if (pooled.active === 0 && !pooled.leaving && pooled.idleSince <= before) {
          this.#config.onIdle(pooled.instance);
          void this.#stop(pooled);
        }
      this.#watchIdle();
    };
    this.#idleTimer = setTimeout(look, Math.max(10, due - Date.now())).unref();
  }
}
