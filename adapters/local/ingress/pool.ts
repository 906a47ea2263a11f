/**
 * Manages the instances of one revision. A pool starts instances for waiting requests, fills them to the declared
 * concurrency, freezes and stops idle instances, and drains when another revision takes over.
 */
import type { InstanceState } from "../../../core/domain/deploy/instance-status.ts";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { Load } from "../../../core/ports/telemetry.ts";
import type { HealthResult } from "../instances/health-check.ts";
import type { Instance } from "../instances/instance.ts";
import type { Exit } from "../sandbox/runner.ts";
import { HealthWatch, type HealthWatchConfig } from "./health-watch.ts";
import { PooledInstance } from "./pooled-instance.ts";
import { chooseInstance, instancesToStart } from "./scale.ts";
import { type IdleRules, isBusy, nextSleepAt, nextSleepStep } from "./sleep.ts";

/** How a pool checks its instances. */
export interface PoolHealth extends Pick<HealthWatchConfig, "intervalMillis" | "failures"> {
  readonly check: (instance: Instance, signal: AbortSignal) => Promise<HealthResult>;
  /** The instance has failed too often, and the pool replaces it. */
  readonly onUnhealthy: (instance: Instance, problem: string) => void;
  /** Milliseconds that open requests of the instance may take to end. */
  readonly drainMillis: number;
}

/**
 * Why an instance without requests stops. `idle`: its idle time has ended, or it could not be frozen. `quota`: it is
 * frozen, and another instance needs its place in the account's quota. `memory`: it is frozen, and all frozen instances
 * together use too much memory.
 */
export type StopReason = "idle" | "quota" | "memory";

export interface PoolConfig extends IdleRules {
  /** The health check, if the service has one. */
  readonly health?: PoolHealth;
  readonly concurrency: number;
  readonly maxInstances: number;
  /** Instances that run even without requests. At most `maxInstances`. */
  readonly minInstances: number;
  readonly queueLimit: number;
  /** Milliseconds that a request may wait for a slot. */
  readonly waitMillis: number;
  readonly start: (signal: AbortSignal) => Promise<Instance | DeployFailure>;
  /** Queues a start for `minInstances` and runs it later, because the engine limits concurrent starts. */
  readonly inTurn: (start: () => Promise<boolean>) => Promise<boolean>;
  /** Takes one instance from the account's quota; returns false if none is left. */
  readonly acquireQuota: () => boolean;
  readonly releaseQuota: () => void;
  readonly onStarted: (instance: Instance, millis: number) => void;
  readonly onFrozen: (instance: Instance) => void;
  readonly onThawed: (instance: Instance, millis: number) => void;
  /** The instance could not be frozen or thawed. */
  readonly onSleepFailed: (instance: Instance, cause: unknown) => void;
  /** The instance has no requests and stops. */
  readonly onIdle: (instance: Instance, reason: StopReason) => void;
  readonly onUnreachable: (instance: Instance) => void;
  readonly onCrashed: (instance: Instance, exit: Exit) => void;
}

export type Refusal =
  | { readonly kind: "full" }
  | { readonly kind: "waited_too_long" }
  | { readonly kind: "did_not_start"; readonly failure: DeployFailure }
  /** Another revision has taken over. The caller must try that revision's pool. */
  | { readonly kind: "retired" }
  | { readonly kind: "client_gone" };

/** A slot in an instance, for one request. */
export interface Slot {
  readonly pooled: PooledInstance;
  release(): void;
}

interface Waiter {
  readonly affinity: string | undefined;
  readonly signal: AbortSignal;
  readonly resolve: (outcome: Slot | Refusal | Promise<Slot | Refusal>) => void;
}

/** Delays after consecutive failed starts, in milliseconds. */
const BACKOFF_MS = [0, 500, 1000, 2000, 5000, 10_000];

/** Consecutive failures of one kind. */
interface Failures {
  readonly count: number;
  /** When the last one occurred, by `performance.now()`, which changes of the machine's clock do not affect. */
  readonly at: number;
}

const NO_FAILURES: Failures = { count: 0, at: 0 };

const addFailure = ({ count }: Failures): Failures => ({ count: count + 1, at: performance.now() });

/**
 * Returns the milliseconds until the next start.
 * @param tolerated the number of failures without a pause
 */
const pauseAfter = ({ count, at }: Failures, tolerated = 0): number => {
  const pause = BACKOFF_MS[Math.max(0, Math.min(count - tolerated, BACKOFF_MS.length - 1))] as number;
  return Math.max(0, at + pause - performance.now());
};

/** An instance that exits within this time may be in a crash loop. */
const QUICK_EXIT_MS = 10_000;

/**
 * An instance that refuses connections is probably exiting. The pool waits this long before it stops the instance,
 * because a signal would hide the exit code.
 */
const ENDING_MS = 1000;

/** How often the pool tries to start an instance while the account's instance quota is used up. */
const QUOTA_RETRY_MS = 500;

/** How often a drain checks whether instances are still busy. */
const DRAIN_POLL_MS = 20;

/** The longest delay that `setTimeout` accepts. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** An instance of a pool with its state. */
export interface InstanceInState {
  readonly instance: Instance;
  readonly state: InstanceState;
}

const hasNoRequests = ({ active, leaving }: PooledInstance): boolean => active === 0 && !leaving;

export class Pool {
  readonly #config: PoolConfig;
  readonly #instances: PooledInstance[] = [];
  readonly #queue: Waiter[] = [];
  readonly #closing = new AbortController();
  readonly #starts = new Set<Promise<void>>();
  #starting = 0;
  #failedStarts = NO_FAILURES;
  #lastFailure: DeployFailure | undefined;
  /** Consecutive instances that exited soon after their start. */
  #quickExits = NO_FAILURES;
  /** Whether the pool is starting an instance for `minInstances`, or is waiting for its turn. */
  #isFilling = false;
  #idleTimer: NodeJS.Timeout | undefined;
  /** When the idle timer expires, in milliseconds since the epoch. */
  #idleTimerAt = 0;
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
  get load(): Omit<Load["instances"], "rolling"> & { readonly waiting: number } {
    const now = Date.now();
    const busy = this.#instances.filter((pooled) => isBusy(pooled, now)).length;
    const frozen = this.#instances.filter((pooled) => !isBusy(pooled, now) && pooled.frozen).length;
    const idle = this.#instances.length - busy - frozen;
    return { starting: this.#starting, busy, idle, frozen, waiting: this.#queue.length };
  }

  /** The running instances with their states. */
  get instances(): readonly InstanceInState[] {
    const stateOf = ({ unhealthy, leaving, frozen }: PooledInstance): InstanceState => {
      if (unhealthy) return "unhealthy";
      if (leaving || this.#retired) return "draining";
      return frozen ? "frozen" : "ready";
    };
    return this.#instances.map((pooled) => ({ instance: pooled.instance, state: stateOf(pooled) }));
  }

  /** The frozen instances, except those that are about to thaw or stop. */
  get frozen(): readonly PooledInstance[] {
    const now = Date.now();
    return this.#instances.filter((pooled) => pooled.frozen && !pooled.leaving && !isBusy(pooled, now));
  }

  /**
   * Starts missing instances, for waiting requests and for `minInstances`. The caller must call this method when the
   * pool begins to serve, and may call it when the account's quota has room again.
   */
  startMissing(): void {
    this.#scale();
  }

  /** Stops an instance that has no requests. Resolves when it has stopped. */
  stopIdle(pooled: PooledInstance, reason: StopReason): Promise<void> {
    this.#config.onIdle(pooled.instance, reason);
    return this.#stop(pooled);
  }

  get active(): number {
    return this.#instances.reduce((sum, pooled) => sum + pooled.active, 0);
  }

  /** Adds an instance that a rollout has started and already counted against the account's quota. */
  add(instance: Instance): void {
    this.#join(new PooledInstance(instance));
  }

  /** Returns a slot in a running instance, or undefined if the request must wait. */
  tryAcquire(affinity?: string): Slot | undefined {
    if (this.#retired || this.#queue.length > 0) return undefined;
    const chosen = this.#choose(affinity);
    return chosen === undefined || chosen.frozen ? undefined : this.#slot(chosen);
  }

  /** Waits for a slot. */
  acquire(affinity: string | undefined, signal: AbortSignal): Promise<Slot | Refusal> {
    if (this.#retired) return Promise.resolve({ kind: "retired" });
    const chosen = this.#queue.length > 0 ? undefined : this.#choose(affinity);
    if (chosen !== undefined) return Promise.resolve(this.#grant(chosen, affinity, signal));
    // If no instance runs, one request may wait despite the limit, because it starts the service.
    if (this.#queue.length >= Math.max(this.#config.queueLimit, this.size === 0 ? 1 : 0))
      return Promise.resolve({ kind: "full" });
    return new Promise((resolve) => {
      const leave: Waiter["resolve"] = (outcome) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", gone);
        resolve(outcome);
      };
      const waiter: Waiter = { affinity, signal, resolve: leave };
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
   * Takes no new requests, sends waiting ones to the next revision, and stops each instance when its requests and its
   * busy lease have ended or `drainMillis` have passed. Resolves when no instance is left.
   */
  async retire(drainMillis: number): Promise<void> {
    this.#retired = true;
    clearTimeout(this.#idleTimer);
    this.#closing.abort();
    for (const waiter of this.#queue.splice(0)) waiter.resolve({ kind: "retired" });
    await Promise.all(this.#starts);
    const deadline = performance.now() + drainMillis;
    for (;;) {
      const now = Date.now();
      for (const pooled of this.#instances) if (!pooled.stopping && !isBusy(pooled, now)) void this.#stop(pooled);
      if (performance.now() >= deadline || !this.#instances.some((pooled) => isBusy(pooled, now))) break;
      await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));
    }
    await Promise.all([...this.#instances].map((pooled) => this.#stop(pooled)));
  }

  /**
   * Sends no more requests to an instance that refuses connections or does not thaw. Stops it if its processes do not
   * exit soon.
   */
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

  /**
   * Returns the instance for the next request: the one that `affinity` names, if it has room. Otherwise chooses a
   * frozen one only if all others are full.
   */
  #choose(affinity: string | undefined): PooledInstance | undefined {
    const isBound = ({ instance, leaving }: PooledInstance) => !leaving && instance.id === affinity;
    const bound = affinity === undefined ? undefined : this.#instances.find(isBound);
    if (bound !== undefined && bound.active < this.#config.concurrency) return bound;
    return this.#chooseAmong(false) ?? this.#chooseAmong(true);
  }

  #chooseAmong(frozen: boolean): PooledInstance | undefined {
    const open = this.#instances.filter((pooled) => !pooled.leaving && pooled.frozen === frozen);
    const index = chooseInstance(
      open.map((pooled) => pooled.active),
      this.#config.concurrency,
    );
    return index === undefined ? undefined : open[index];
  }

  /** Returns a slot in the instance. If the instance is frozen, waits for its thaw, which concurrent calls share. */
  #grant(pooled: PooledInstance, affinity: string | undefined, signal: AbortSignal): Slot | Promise<Slot | Refusal> {
    const slot = this.#slot(pooled);
    if (!pooled.frozen) return slot;
    pooled.thawing ??= this.#thaw(pooled);
    return pooled.thawing.then(() => {
      if (!pooled.frozen) return slot;
      slot.release();
      return this.acquire(affinity, signal);
    });
  }

  /** Thaws the instance, or gives it up if the thaw fails. */
  async #thaw(pooled: PooledInstance): Promise<void> {
    const begun = performance.now();
    try {
      await pooled.instance.thaw();
      pooled.frozen = false;
      this.#config.onThawed(pooled.instance, Math.round(performance.now() - begun));
    } catch (cause) {
      this.#config.onSleepFailed(pooled.instance, cause);
      this.giveUp(pooled);
    }
    pooled.thawing = undefined;
  }

  /**
   * Freezes the instance, or stops it if the freeze fails. A request that arrives during the freeze waits for the thaw.
   */
  async #freeze(pooled: PooledInstance): Promise<void> {
    pooled.frozen = true;
    // The service closes connections whose keep-alive time ends during the pause, possibly just after it receives a
    // request.
    pooled.closeConnections();
    try {
      await pooled.instance.freeze();
    } catch (cause) {
      this.#config.onSleepFailed(pooled.instance, cause);
      pooled.frozen = false;
      if (!isBusy(pooled, Date.now())) await this.stopIdle(pooled, "idle");
      return;
    }
    if (pooled.leaving) return;
    pooled.memory = pooled.instance.memory();
    this.#config.onFrozen(pooled.instance);
  }

  #slot(pooled: PooledInstance): Slot {
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
          if (!isBusy(pooled, Date.now())) void this.#stop(pooled);
        } else {
          this.#serveQueue();
          this.#watchIdle();
        }
      },
    };
  }

  #serveQueue(): void {
    while (this.#queue.length > 0) {
      const { affinity, signal, resolve } = this.#queue[0] as Waiter;
      const chosen = this.#choose(affinity);
      if (chosen === undefined) break;
      this.#queue.shift();
      resolve(this.#grant(chosen, affinity, signal));
    }
    this.#scale();
  }

  /** The number of awake instances that the pool lacks for `minInstances`. Thawing instances count as awake. */
  get #missing(): number {
    const isAwake = ({ leaving, frozen, thawing }: PooledInstance) => !leaving && (!frozen || thawing !== undefined);
    return this.#config.minInstances - this.#starting - this.#instances.filter(isAwake).length;
  }

  /** Thaws and starts instances until `minInstances` are awake. */
  #keepMinimum(): void {
    for (const pooled of this.#instances)
      if (this.#missing > 0 && pooled.frozen && !pooled.leaving) pooled.thawing ??= this.#thaw(pooled);
    if (this.#isFilling || this.#missing <= 0 || this.size >= this.#config.maxInstances) return;
    const pause = Math.max(pauseAfter(this.#failedStarts), pauseAfter(this.#quickExits, 1));
    if (pause > 0) {
      this.#scaleLater(pause);
      return;
    }
    this.#isFilling = true;
    void this.#config
      .inTurn(() => this.#startMissing())
      .then((hasStarted) => {
        this.#isFilling = false;
        if (hasStarted) this.#scale();
      });
  }

  /**
   * Starts one instance if fewer than `minInstances` are awake. Resolves to false if the pool must not try again now.
   */
  async #startMissing(): Promise<boolean> {
    if (this.#retired || this.#missing <= 0 || this.size >= this.#config.maxInstances) return false;
    const start = this.#startOne();
    await start;
    return start !== undefined;
  }

  #scale(): void {
    if (this.#retired) return;
    this.#keepMinimum();
    if (this.#queue.length === 0) return;
    const pause = pauseAfter(this.#failedStarts);
    if (pause > 0 && this.#lastFailure !== undefined) {
      // Instances that run or start will serve the waiting requests.
      if (this.size > 0) this.#scaleLater(pause);
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
    for (let count = instancesToStart(load); count > 0; count--) if (this.#startOne() === undefined) return;
  }

  #refuseAll(failure: DeployFailure): void {
    for (const waiter of this.#queue.splice(0)) waiter.resolve({ kind: "did_not_start", failure });
  }

  /** Resolves when the start has succeeded or failed. Returns undefined if the account's quota is used up. */
  #startOne(): Promise<void> | undefined {
    if (!this.#config.acquireQuota()) {
      this.#scaleLater(QUOTA_RETRY_MS);
      return undefined;
    }
    this.#starting++;
    const begun = performance.now();
    const start = this.#config.start(this.#closing.signal).then((outcome) => {
      this.#starting--;
      this.#starts.delete(start);
      if ("reason" in outcome) return this.#failed(outcome);
      this.#failedStarts = NO_FAILURES;
      this.#config.onStarted(outcome, Math.round(performance.now() - begun));
      this.#join(new PooledInstance(outcome));
      if (!this.#retired) this.#serveQueue();
    });
    this.#starts.add(start);
    return start;
  }

  #failed(failure: DeployFailure): void {
    this.#config.releaseQuota();
    if (this.#retired) return;
    this.#failedStarts = addFailure(this.#failedStarts);
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
    pooled.instance.onLease(() => void this.#leaseChanged(pooled));
    this.#watchHealth(pooled);
    this.#watchIdle();
  }

  #watchHealth(pooled: PooledInstance): void {
    const { health } = this.#config;
    if (health === undefined) return;
    const watch = new HealthWatch({
      ...health,
      check: (signal) => health.check(pooled.instance, signal),
      isPaused: () => pooled.frozen || pooled.leaving || this.#retired,
      onUnhealthy: (problem) => {
        pooled.unhealthy = true;
        health.onUnhealthy(pooled.instance, problem);
        void this.#replace(pooled, health.drainMillis);
      },
    });
    void pooled.instance.exited.then(() => watch.stop());
  }

  /** Starts a replacement, and stops the instance when its requests have ended or `drainMillis` have passed. */
  async #replace(pooled: PooledInstance, drainMillis: number): Promise<void> {
    pooled.leaving = true;
    // The instance counts until it has stopped, because a service may rely on having at most `maxInstances` instances.
    const hasRoom = this.size < this.#config.maxInstances;
    if (hasRoom) void this.#startOne();
    const deadline = performance.now() + drainMillis;
    while (isBusy(pooled, Date.now()) && performance.now() < deadline && !pooled.stopping)
      await new Promise((resolve) => setTimeout(resolve, DRAIN_POLL_MS));
    await this.#stop(pooled);
    if (!hasRoom && !this.#retired && this.size === 0) void this.#startOne();
  }

  /** Thaws an instance that took a busy lease just before its freeze, because it has work to do. */
  async #leaseChanged(pooled: PooledInstance): Promise<void> {
    if (pooled.frozen && isBusy(pooled, Date.now())) {
      pooled.thawing ??= this.#thaw(pooled);
      await pooled.thawing;
    }
    this.#watchIdle();
  }

  #left(pooled: PooledInstance, exit: Exit): void {
    const index = this.#instances.indexOf(pooled);
    if (index < 0) return;
    this.#instances.splice(index, 1);
    this.#config.releaseQuota();
    pooled.closeConnections();
    if (!pooled.stopping) {
      const isQuick = performance.now() - pooled.joinedAt < QUICK_EXIT_MS;
      this.#quickExits = isQuick ? addFailure(this.#quickExits) : NO_FAILURES;
      this.#config.onCrashed(pooled.instance, exit);
    }
    this.#scale();
  }

  async #stop(pooled: PooledInstance): Promise<void> {
    pooled.leaving = true;
    pooled.stopping = true;
    const exit = await pooled.instance.stop();
    this.#left(pooled, exit);
  }

  /** Sets the timer for the next freeze or stop of an idle instance. The pool has one such timer. */
  #watchIdle(): void {
    if (this.#retired) return;
    // This method runs after every request, so it returns early if the timer already expires before the first step of
    // an instance whose last request has just ended.
    const soonest = Date.now() + nextSleepStep(false, this.#config).afterMillis;
    if (this.#idleTimer !== undefined && this.#idleTimerAt <= soonest) return;
    clearTimeout(this.#idleTimer);
    this.#idleTimer = undefined;
    const dues = this.#idle().map((pooled) => nextSleepAt(pooled, this.#config));
    if (dues.length === 0) return;
    const millis = Math.min(Math.max(10, Math.min(...dues) - Date.now()), MAX_TIMER_MS);
    this.#idleTimerAt = Date.now() + millis;
    this.#idleTimer = setTimeout(() => this.#takeIdleSteps(), millis).unref();
  }

  /** The instances without requests that may be frozen or stopped. Excludes the `minInstances` oldest awake ones. */
  #idle(): PooledInstance[] {
    const awake = this.#instances.filter(({ frozen, leaving }) => !frozen && !leaving);
    const kept = new Set(awake.slice(0, this.#config.minInstances));
    return this.#instances.filter((pooled) => hasNoRequests(pooled) && !kept.has(pooled));
  }

  #takeIdleSteps(): void {
    this.#idleTimer = undefined;
    const now = Date.now();
    for (const pooled of this.#idle()) {
      if (nextSleepAt(pooled, this.#config) > now) continue;
      if (nextSleepStep(pooled.frozen, this.#config).action === "freeze") void this.#freeze(pooled);
      else void this.stopIdle(pooled, "idle");
    }
    this.#watchIdle();
  }
}
