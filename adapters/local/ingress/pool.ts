/**
 * The instances of one revision. The pool starts them for waiting requests, fills them to the declared concurrency, stops
 * idle ones, and drains when another revision takes over.
 */
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { Instance } from "../instances/instance.ts";
import type { Exit } from "../sandbox/runner.ts";
import { Member } from "./member.ts";
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
  readonly takeBudget: () => boolean;
  readonly giveBudget: () => void;
  readonly onStarted: (instance: Instance, millis: number) => void;
  readonly onIdle: (instance: Instance) => void;
  readonly onUnreachable: (instance: Instance) => void;
  readonly onCrashed: (instance: Instance, exit: Exit) => void;
}

export type Refusal =
  | { readonly kind: "full" }
  | { readonly kind: "waited_too_long" }
  | { readonly kind: "did_not_start"; readonly failure: DeployFailure }
  /** Another revision has taken over; ask its pool. */
  | { readonly kind: "retired" }
  | { readonly kind: "client_gone" };

/** A place in an instance for one request. */
export interface Lease {
  readonly member: Member;
  release(): void;
}

interface Waiter {
  readonly affinity: string | undefined;
  readonly resolve: (outcome: Lease | Refusal) => void;
}

/** Delays after failed starts, in milliseconds, so that a broken service does not restart in a tight loop. */
const BACKOFF_MS = [0, 500, 1000, 2000, 5000, 10_000];

/**
 * An instance that refuses connections has probably just exited. Wait this long for that, because a signal would hide its
 * exit code.
 */
const ENDING_MS = 1000;

/** While the account's instance budget is used up, waiting requests retry at this interval. */
const BUDGET_RETRY_MS = 500;

export class Pool {
  readonly #config: PoolConfig;
  readonly #members: Member[] = [];
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
    return this.#members.length + this.#starting;
  }

  /** What its instances are doing. */
  get load(): { readonly starting: number; readonly busy: number; readonly idle: number; readonly waiting: number } {
    const busy = this.#members.filter((member) => member.active > 0).length;
    return {
      starting: this.#starting,
      busy,
      idle: this.#members.length - busy,
      waiting: this.#queue.length,
    };
  }

  get active(): number {
    return this.#members.reduce((sum, member) => sum + member.active, 0);
  }

  /** Adds an instance that a rollout has started, with its share of the budget. */
  adopt(instance: Instance): void {
    this.#join(new Member(instance));
  }

  /** Returns a place immediately, or undefined if none is free. */
  tryAcquire(affinity?: string): Lease | undefined {
    if (this.#retired || this.#queue.length > 0) return undefined;
    return this.#place(affinity);
  }

  /** Waits for a place, or returns why there will be none. */
  acquire(affinity: string | undefined, signal: AbortSignal): Promise<Lease | Refusal> {
    const now = this.tryAcquire(affinity);
    if (now !== undefined) return Promise.resolve(now);
    if (this.#retired) return Promise.resolve({ kind: "retired" });
    // Whatever the limit, one request may always wait if no instance runs: it wakes the service.
    if (this.#queue.length >= Math.max(this.#config.queueLimit, this.size === 0 ? 1 : 0))
      return Promise.resolve({ kind: "full" });
    return new Promise((resolve) => {
      const leave = (outcome: Lease | Refusal) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", gone);
        resolve(outcome);
      };
      const waiter: Waiter = { affinity, resolve: leave };
      const giveUp = (refusal: Refusal) => {
        const index = this.#queue.indexOf(waiter);
        if (index < 0) return;
        this.#queue.splice(index, 1);
        leave(refusal);
      };
      const gone = () => giveUp({ kind: "client_gone" });
      const timer = setTimeout(() => giveUp({ kind: "waited_too_long" }), this.#config.waitMillis);
      signal.addEventListener("abort", gone);
      this.#queue.push(waiter);
      this.#scale();
    });
  }

  /**
   * Takes no new requests, sends waiting ones to the next revision, and stops each instance when its requests have ended
   * or `drainMillis` have passed. Resolves when no instance is left.
   */
  async retire(drainMillis: number): Promise<void> {
    this.#retired = true;
    clearTimeout(this.#idleTimer);
    this.#closing.abort();
    for (const waiter of this.#queue.splice(0)) waiter.resolve({ kind: "retired" });
    await Promise.all(this.#starts);
    const deadline = Date.now() + drainMillis;
    for (const member of [...this.#members]) if (member.active === 0) void this.#stop(member);
    while (this.#members.some((member) => member.active > 0) && Date.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, 20));
    await Promise.all([...this.#members].map((member) => this.#stop(member)));
  }

  /** Removes an instance that no longer listens, whatever state its process is in. */
  giveUp(member: Member): void {
    if (member.leaving) return;
    member.leaving = true;
    const timer = setTimeout(() => {
      if (member.stopping || member.instance.processes().length === 0) return;
      this.#config.onUnreachable(member.instance);
      void this.#stop(member);
    }, ENDING_MS);
    void member.instance.exited.then(() => clearTimeout(timer));
  }

  #place(affinity: string | undefined): Lease | undefined {
    const open = this.#members.filter((member) => !member.leaving);
    const { concurrency } = this.#config;
    const bound = affinity === undefined ? undefined : open.find((member) => member.instance.id === affinity);
    if (bound !== undefined && bound.active < concurrency) return this.#lease(bound);
    const index = chooseInstance(
      open.map((member) => member.active),
      concurrency,
    );
    return index === undefined ? undefined : this.#lease(open[index] as Member);
  }

  #lease(member: Member): Lease {
    member.active++;
    let held = true;
    return {
      member,
      release: () => {
        if (!held) return;
        held = false;
        member.active--;
        member.idleSince = Date.now();
        if (this.#retired) {
          if (member.active === 0) void this.#stop(member);
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
      ready: this.#members.length,
      concurrency,
      most: maxInstances,
    };
    for (let count = instancesToStart(load); count > 0; count--) if (!this.#startOne()) return;
  }

  #refuseAll(failure: DeployFailure): void {
    for (const waiter of this.#queue.splice(0)) waiter.resolve({ kind: "did_not_start", failure });
  }

  #startOne(): boolean {
    if (!this.#config.takeBudget()) {
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
      this.#join(new Member(outcome));
      if (!this.#retired) this.#serveQueue();
    });
    this.#starts.add(start);
    return true;
  }

  #failed(failure: DeployFailure): void {
    this.#config.giveBudget();
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

  #join(member: Member): void {
    this.#members.push(member);
    void member.instance.exited.then((exit) => this.#left(member, exit));
    this.#watchIdle();
  }

  #left(member: Member, exit: Exit): void {
    const index = this.#members.indexOf(member);
    if (index < 0) return;
    this.#members.splice(index, 1);
    this.#config.giveBudget();
    member.closeResources();
    if (!member.stopping) this.#config.onCrashed(member.instance, exit);
    this.#scale();
  }

  async #stop(member: Member): Promise<void> {
    member.leaving = true;
    member.stopping = true;
    const exit = await member.instance.stop();
    this.#left(member, exit);
  }

  /** A single timer for the whole pool, due when the next instance will have been idle long enough. */
  #watchIdle(): void {
    if (this.#idleTimer !== undefined || this.#retired) return;
    const idle = this.#members.filter((member) => member.active === 0 && !member.leaving);
    if (idle.length === 0) return;
    const due = Math.min(...idle.map((member) => member.idleSince)) + this.#config.idleMillis;
    const look = () => {
      this.#idleTimer = undefined;
      const before = Date.now() - this.#config.idleMillis;
      for (const member of this.#members)
        if (member.active === 0 && !member.leaving && member.idleSince <= before) {
          this.#config.onIdle(member.instance);
          void this.#stop(member);
        }
      this.#watchIdle();
    };
    this.#idleTimer = setTimeout(look, Math.max(10, due - Date.now())).unref();
  }
}
