/**
 * Records the metrics of services: counts requests and cold starts, and measures the running instances every ten
 * seconds. A killed engine loses the metrics of the last ten seconds.
 */
import { setImmediate as yieldTurn } from "node:timers/promises";
import type { NewLogEntry } from "../../../core/domain/logs/entry.ts";
import { minuteOf } from "../../../core/domain/usage/metrics.ts";
import {
  countColdStart,
  countInstance,
  countRequest,
  createRollup,
  isEmptyRollup,
  type Rollup,
  renderRollup,
} from "../../../core/domain/usage/rollup.ts";
import type { Clock, Logger } from "../../../core/ports/system.ts";
import type { ResourceUse } from "../sandbox/runner.ts";
import type { RollupRow } from "./rollups.ts";

const TICK_MS = 10_000;
/**
 * If more time passes between two measurements, the machine was suspended. The excess does not count as observed time.
 */
const MAX_TICK_MS = 60_000;

/** A running instance. */
export interface MeasuredInstance {
  readonly owner: string;
  readonly name: string;
  readonly instance: { readonly id: string; use(): ResourceUse | undefined };
}

export interface RecorderDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns all running instances. */
  readonly instances: () => readonly MeasuredInstance[];
  /**
   * Receives the rollups that are not stored yet, and the milliseconds for which services were observed since the last
   * call. Returns false if it cannot store the rollups yet. The next call then contains them again.
   */
  readonly write: (rows: readonly RollupRow[], observedMillis: number) => boolean;
}

export class Recorder {
  readonly #deps: RecorderDeps;
  /** The counters since the last write, by account and service. Nested maps, so that a lookup needs no combined key. */
  readonly #rollups = new Map<string, Map<string, Rollup>>();
  /** The CPU time of each instance at its last measurement. */
  #cpuMillis = new Map<string, number>();
  #measured = performance.now();
  #ticking: Promise<void> | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor(deps: RecorderDeps) {
    this.#deps = deps;
    this.#timer = setInterval(() => {
      this.#ticking ??= this.tick().finally(() => {
        this.#ticking = undefined;
      });
    }, TICK_MS).unref();
  }

  /** Counts a request. Runs for every request. Allocates memory only for the first request after an idle interval. */
  served({ owner, service, http }: NewLogEntry): void {
    if (http !== undefined)
      countRequest(this.#rollupOf(owner, service), http.status, Number.parseFloat(http.latency) * 1000);
  }

  coldStarted(owner: string, name: string): void {
    countColdStart(this.#rollupOf(owner, name));
  }

  /** Measures the running instances, and writes the rollups. */
  async tick(): Promise<void> {
    const now = performance.now();
    const millis = Math.min(now - this.#measured, MAX_TICK_MS);
    this.#measured = now;
    try {
      await this.#measure(millis);
    } catch (cause) {
      this.#deps.logger.warn("could not measure the running instances", { cause });
    }
    this.#write(millis);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#ticking;
    await this.tick();
  }

  async #measure(millis: number): Promise<void> {
    const before = this.#cpuMillis;
    this.#cpuMillis = new Map();
    for (const { owner, name, instance } of this.#deps.instances()) {
      const use = instance.use();
      const used = use === undefined ? 0 : Math.max(0, use.cpuMillis - (before.get(instance.id) ?? 0));
      if (use !== undefined) this.#cpuMillis.set(instance.id, use.cpuMillis);
      countInstance(this.#rollupOf(owner, name), { millis, memoryBytes: use?.memory ?? 0, cpuMillis: used });
      // Reading /proc blocks this process, so let requests run in between.
      await yieldTurn();
    }
  }

  /** Writes the rollups, as rollups of the current minute. */
  #write(observedMillis: number): void {
    const minute = minuteOf(this.#deps.clock.now());
    const rows: RollupRow[] = [];
    for (const [owner, services] of this.#rollups)
      for (const [name, rollup] of services)
        if (!isEmptyRollup(rollup)) rows.push({ minute, owner, name, rollup: renderRollup(rollup) });
    if (!this.#deps.write(rows, observedMillis)) return;
    for (const [owner, services] of this.#rollups) {
      for (const [name, rollup] of services)
        if (isEmptyRollup(rollup)) services.delete(name);
        else rollup.fill(0);
      if (services.size === 0) this.#rollups.delete(owner);
    }
  }

  #rollupOf(owner: string, name: string): Rollup {
    let services = this.#rollups.get(owner);
    if (services === undefined) {
      services = new Map();
      this.#rollups.set(owner, services);
    }
    let rollup = services.get(name);
    if (rollup === undefined) {
      rollup = createRollup();
      services.set(name, rollup);
    }
    return rollup;
  }
}
