/** Repeats the health check of one instance, and reports when the instance has failed too often in a row. */
import type { HealthResult } from "../instances/health-check.ts";

export interface HealthWatchConfig {
  readonly intervalMillis: number;
  /** The number of consecutive failures that are too many. */
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
  readonly #timer: NodeJS.Timeout;
  #failures = 0;
  #isChecking = false;

  constructor(config: HealthWatchConfig) {
    this.#config = config;
    this.#timer = setInterval(() => void this.#check(), config.intervalMillis).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#stopped.abort();
  }

  async #check(): Promise<void> {
    const { check, failures, isPaused, onUnhealthy } = this.#config;
    if (this.#isChecking) return;
    // A pause may make a check fail, so earlier failures do not count after it.
    if (isPaused()) {
      this.#failures = 0;
      return;
    }
    this.#isChecking = true;
    const result = await check(this.#stopped.signal);
    this.#isChecking = false;
    if (this.#stopped.signal.aborted || isPaused()) return;
    this.#failures = result.healthy ? 0 : this.#failures + 1;
    if (result.healthy || this.#failures < failures) return;
    this.stop();
    onUnhealthy(result.problem);
  }
}
