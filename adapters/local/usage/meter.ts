/**
 * Meters the declared size of instances from start to exit, and the requests that reach them. Counts no CPU while an
 * instance is frozen. Passes on the increments every few seconds, so a killed engine loses only the usage of the last
 * few seconds and counts nothing twice.
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import type { NewLogEntry } from "../../../core/domain/logs/entry.ts";
import { dayOf, periodOfDay } from "../../../core/domain/usage/month.ts";
import { type Instant, millisOf } from "../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { type Increment, Increments } from "./increments.ts";

const FLUSH_MS = 2000;

export interface MeterDeps {
  readonly clock: Clock;
  /** Receives the increments since the last call. Must not throw. */
  readonly write: (increments: readonly Increment[]) => void;
}

/** An instance that is metered. */
export interface Metered {
  /** Counts only memory until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** The caller must call this method when the instance exits. */
  end(): void;
}

interface Running {
  readonly template: Pick<ServiceTemplate, "owner" | "name" | "cpu" | "memory">;
  /** The time up to which the instance has been counted. */
  counted: Instant;
  isFrozen: boolean;
}

export class Meter {
  readonly #deps: MeterDeps;
  readonly #increments = new Increments();
  readonly #running = new Set<Running>();
  /** Requests since the last flush, by account and deployment. */
  readonly #requests = new Map<string, { readonly owner: AccountId; readonly deployment: string; count: number }>();
  readonly #timer: NodeJS.Timeout;

  constructor(deps: MeterDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => this.flush(), FLUSH_MS).unref();
  }

  /** Starts metering an instance. */
  started(template: Running["template"]): Metered {
    const running: Running = { template, counted: this.#deps.clock.now(), isFrozen: false };
    this.#running.add(running);
    const setFrozen = (isFrozen: boolean) => {
      if (this.#running.has(running)) this.#count(running, this.#deps.clock.now());
      running.isFrozen = isFrozen;
    };
    return {
      freeze: () => setFrozen(true),
      thaw: () => setFrozen(false),
      end: () => {
        if (this.#running.delete(running)) this.#count(running, this.#deps.clock.now());
      },
    };
  }

  /**
   * Counts a request that reached an instance. Does not read the clock, because this method runs for every request. The
   * request counts toward the day of the next flush.
   */
  served({ owner, service, instance, logName }: NewLogEntry): void {
    if (logName !== "requests" || instance === undefined) return;
    const key = `${owner}\n${service}`;
    const present = this.#requests.get(key);
    if (present === undefined) this.#requests.set(key, { owner, deployment: service, count: 1 });
    else present.count++;
  }

  /** Passes on the increments. */
  flush(): void {
    const now = this.#deps.clock.now();
    for (const running of this.#running) this.#count(running, now);
    const day = dayOf(now);
    for (const { owner, deployment, count } of this.#requests.values())
      this.#increments.add({ owner, deployment, day, sku: "requests", grains: BigInt(count) });
    this.#requests.clear();
    this.#deps.write(this.#increments.takeAll());
  }

  close(): void {
    clearInterval(this.#timer);
    this.flush();
  }

  /** Splits the time by UTC day. After the clock is set back, counts nothing until the clock has caught up. */
  #count(running: Running, until: Instant): void {
    const { owner, name: deployment, cpu, memory } = running.template;
    while (running.counted < until) {
      const day = dayOf(running.counted);
      const { to } = periodOfDay(day);
      const end = to < until ? to : until;
      const millis = BigInt(millisOf(end) - millisOf(running.counted));
      const key = { owner, deployment, day };
      if (!running.isFrozen) this.#increments.add({ ...key, sku: "cpu", grains: BigInt(cpu) * millis });
      this.#increments.add({ ...key, sku: "memory", grains: BigInt(Math.ceil(memory / 1024)) * millis });
      running.counted = end;
    }
  }
}
