/** Work that no caller awaits, such as drains and sweeps. */
import type { Logger } from "../../../core/ports/system.ts";

export class BackgroundTasks {
  readonly #logger: Logger;
  readonly #running = new Set<Promise<unknown>>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** @param failure the log message if the work fails */
  add(work: Promise<unknown>, failure: string): void {
    const noted = work
      .catch((cause) => this.#logger.error(failure, { cause }))
      .finally(() => this.#running.delete(noted));
    this.#running.add(noted);
  }

  /** Resolves when all work has ended. */
  async settle(): Promise<void> {
    await Promise.allSettled(this.#running);
  }
}
