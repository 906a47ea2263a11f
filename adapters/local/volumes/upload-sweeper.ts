/** Deletes abandoned multipart uploads every hour. */
import type { Clock, Logger } from "../../../core/ports/system.ts";
import type { LocalObjects } from "./local-objects.ts";

const HOUR_MS = 3_600_000;

export class UploadSweeper {
  readonly #objects: LocalObjects;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #sweeping: NodeJS.Timeout | undefined;

  constructor(objects: LocalObjects, clock: Clock, logger: Logger) {
    this.#objects = objects;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Sweeps now and every hour. */
  async open(): Promise<void> {
    await this.#sweep();
    this.#sweeping = setInterval(() => void this.#sweep(), HOUR_MS).unref();
  }

  close(): void {
    clearInterval(this.#sweeping);
  }

  async #sweep(): Promise<void> {
    try {
      await this.#objects.sweepUploads(this.#clock.now());
    } catch (cause) {
      this.#logger.warn("could not delete abandoned uploads", { cause });
    }
  }
}
