/** A pool with fake instances, for tests of its rules under a manual clock. */
import { vi } from "vitest";
import { Pool, type PoolConfig, type Refusal, type Slot } from "../../../adapters/local/ingress/pool.ts";
import type { Instance } from "../../../adapters/local/instances/instance.ts";
import type { Exit } from "../../../adapters/local/sandbox/runner.ts";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";

/** A fake instance with the methods that the pool calls. */
export class FakeInstance {
  readonly id: string;
  readonly exited: Promise<Exit>;
  readonly end: (exit?: Partial<Exit>) => void;
  readonly calls: string[] = [];
  thaws: Promise<void> | undefined;
  cannotFreeze = false;
  stopped = false;
  alive = true;
  busyUntil = 0;
  /** Changes the lease, as the service does through its socket. */
  lease: (until: number) => void = (until) => {
    this.busyUntil = until;
  };

  constructor(id: string) {
    this.id = id;
    const { promise, resolve } = Promise.withResolvers<Exit>();
    this.exited = promise;
    this.end = (exit) => {
      this.alive = false;
      resolve({ code: 1, signal: null, outOfMemory: false, ...exit });
    };
  }

  processes(): number[] {
    return this.alive ? [1] : [];
  }

  /** Resolves when the test resumes the instance, if the test set `thaws`. */
  async thaw(): Promise<void> {
    this.calls.push("thaw");
    await this.thaws;
  }

  async freeze(): Promise<void> {
    this.calls.push("freeze");
    if (this.cannotFreeze) throw new Error("it cannot be paused");
  }

  onLease(listener: () => void): void {
    this.lease = (until) => {
      this.busyUntil = until;
      listener();
    };
  }

  memory(): number {
    return 1;
  }

  stop(): Promise<Exit> {
    this.stopped = true;
    this.end({ code: null, signal: "SIGTERM" });
    return this.exited;
  }
}

/** The error of a failed fake start. */
export const FAILURE: DeployFailure = { reason: "crashed", message: "It crashed." };

/** A pool whose instances start when the test says so. */
export const poolOf = (config: Partial<PoolConfig> = {}) => {
  const starting: { resolve(outcome: Instance | DeployFailure): void; signal: AbortSignal }[] = [];
  const events: string[] = [];
  let budget = 10;
  const pool = new Pool({
    concurrency: 1,
    maxInstances: 10,
    minInstances: 0,
    idle: "stop",
    idleMillis: 60_000,
    stopAfterMillis: 600_000,
    queueLimit: 100,
    waitMillis: 600_000,
    acquireQuota: () => budget > 0 && budget-- > 0,
    releaseQuota: () => void budget++,
    inTurn: (start) => start(),
    start: (signal) => new Promise((resolve) => starting.push({ resolve, signal })),
    onStarted: (instance) => events.push(`started ${instance.id}`),
    onFrozen: (instance) => events.push(`frozen ${instance.id}`),
    onThawed: (instance) => events.push(`thawed ${instance.id}`),
    onSleepFailed: (instance, cause) => events.push(`failed ${instance.id} ${(cause as Error).message}`),
    onIdle: (instance, reason) => events.push(`${reason} ${instance.id}`),
    onUnreachable: (instance) => events.push(`unreachable ${instance.id}`),
    onCrashed: (instance, exit) => events.push(`crashed ${instance.id} ${exit.code ?? exit.signal}`),
    ...config,
  });
  let made = 0;
  const settle = () => vi.advanceTimersByTimeAsync(0);
  return {
    pool,
    starting,
    events,
    settle,
    budget: () => budget,
    setBudget: (left: number) => {
      budget = left;
    },
    acquire: (affinity?: string, signal = new AbortController().signal) => pool.acquire(affinity, signal),
    /** Lets the oldest start succeed. */
    up: async (): Promise<FakeInstance> => {
      const instance = new FakeInstance(`i${++made}`);
      starting.shift()?.resolve(instance as unknown as Instance);
      await settle();
      return instance;
    },
    fail: async () => {
      starting.shift()?.resolve(FAILURE);
      await settle();
    },
  };
};

/** The granted instance; throws if none was granted. */
export const slotOf = async (outcome: Promise<Slot | Refusal>): Promise<Slot> => {
  const slot = await outcome;
  if ("kind" in slot) throw new Error(`refused: ${slot.kind}`);
  return slot;
};
