/**
 * Meters the declared size of instances from start to exit, and the requests that reach instances. Writes increments
 * every few seconds, each batch in one transaction. A killed engine therefore loses only the last seconds, and counts
 * nothing twice.
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import type { NewLogEntry } from "../../../core/domain/logs/entry.ts";
import { dayOf, periodOfDay } from "../../../core/domain/usage/month.ts";
import { type Instant, millisOf } from "../../../core/domain/wire/instant.ts";
import type { Clock, Logger } from "../../../core/ports/system.ts";
import type { ReplaceableFile } from "../data-folder/replaceable-file.ts";
import { Ledger } from "./ledger.ts";
import type { Prices } from "./prices.ts";

const FLUSH_MS = 2000;

export interface MeterDeps {
  readonly file: ReplaceableFile;
  readonly prices: Prices;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Running {
  readonly template: Pick<ServiceTemplate, "owner" | "name" | "cpu" | "memory">;
  /** The time up to which the instance has been counted. */
  counted: Instant;
}

export class Meter {
  readonly #deps: MeterDeps;
  readonly #ledger: Ledger;
  readonly #running = new Set<Running>();
  /** Requests since the last write, by account and deployment. */
  readonly #requests = new Map<string, { readonly owner: AccountId; readonly deployment: string; count: number }>();
  readonly #timer: NodeJS.Timeout;

  constructor(deps: MeterDeps) {
    this.#deps = deps;
    this.#ledger = new Ledger(deps.file, deps.prices);
    this.#timer = setInterval(() => this.flush(), FLUSH_MS).unref();
  }

  /** Starts metering an instance. The caller must call the returned function when the instance exits. */
  started(template: Running["template"]): () => void {
    const running: Running = { template, counted: this.#deps.clock.now() };
    this.#running.add(running);
    return () => {
      if (!this.#running.delete(running)) return;
      this.#count(running, this.#deps.clock.now());
    };
  }

  /**
   * Counts a request that reached an instance. Does not read the clock, because this method runs for every request. The
   * request counts toward the day of the next write.
   */
  served({ owner, service, instance, logName }: NewLogEntry): void {
    if (logName !== "requests" || instance === undefined) return;
    const key = `${owner}\n${service}`;
    const present = this.#requests.get(key);
    if (present === undefined) this.#requests.set(key, { owner, deployment: service, count: 1 });
    else present.count++;
  }

  /** Writes the increments. If the write fails, the next write includes them. */
  flush(): void {
    const now = this.#deps.clock.now();
    for (const running of this.#running) this.#count(running, now);
    const day = dayOf(now);
    for (const { owner, deployment, count } of this.#requests.values())
      this.#ledger.add({ owner, deployment, day, sku: "requests" }, BigInt(count));
    this.#requests.clear();
    try {
      this.#ledger.write();
    } catch (cause) {
      this.#deps.logger.error("could not write metered usage; will retry", { cause });
    }
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
      this.#ledger.add({ owner, deployment, day, sku: "cpu" }, BigInt(cpu) * millis);
      this.#ledger.add({ owner, deployment, day, sku: "memory" }, BigInt(Math.ceil(memory / 1024)) * millis);
      running.counted = end;
    }
  }
}
