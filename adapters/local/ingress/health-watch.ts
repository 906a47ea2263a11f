/** Repeats the health check of one instance, and reports when the instance has failed too often in a row. */
import type { HealthResult } from "../instances/health-check.ts";

export interface HealthWatchConfig {
  readonly intervalMillis: number;
  /** The number of consecutive failures that make the instance unhealthy. */
  readonly failures: number;
  readonly check: (signal: AbortSignal) => Promise<HealthResult>;
  /** Whether to skip checks now, because the instance is frozen or about to stop. */
  readonly isPaused: () => boolean;
  /** Called once. No check follows. */
  readonly onUnhealthy: (problem: string) => void;
}

export class HealthWatch {
  readonly #config: HealthWatchConfig;
  readonly #stopped = new AbortController();
  #timer: NodeJS.Timeout;
  #failures = 0;

  constructor(config: HealthWatchConfig) {
    this.#config = config;
    this.#timer = this.#later(config.intervalMillis);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#stopped.abort();
  }

  #later(millis: number): NodeJS.Timeout {
    return setTimeout(() => void this.#check(), millis).unref();
  }

  async #check(): Promise<void> {
    const { check, intervalMillis, failures, isPaused, onUnhealthy } = this.#config;
    const begun = performance.now();
    const result = isPaused() ? undefined : await check(this.#stopped.signal);
    if (this.#stopped.signal.aborted) return;
    // A pause may make a check fail, so ignore the failure and restart the count at 0.
    const failed = result?.healthy === false && !isPaused();
    this.#failures = failed ? this.#failures + 1 : 0;
    if (failed && this.#failures >= failures) {
      this.stop();
      onUnhealthy(result.problem);
    } else this.#timer = this.#later(Math.max(0, begun + intervalMillis - performance.now()));
  }
}
