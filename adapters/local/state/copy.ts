/**
 * `state.copy.sqlite`: a second copy of the state, at most seconds old. `portside doctor --repair` takes it where the
 * state is lost or damaged. The write-ahead log is checkpointed as often, so a lost one costs seconds, too.
 */
import { closeSync, openSync, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { backup } from "node:sqlite";
import type { Logger } from "../../../core/ports/system.ts";
import { syncFolder } from "./check-file.ts";
import type { StateDatabase } from "./database.ts";
import { COPY_FILE, inspectState } from "./inspect.ts";

/** How often the state is looked at. */
const EVERY_MS = 1000;
/** A copy of a large state takes time: at most one part in this many is spent on copies. */
const SHARE = 20;

export class StateCopy {
  readonly #db: StateDatabase;
  readonly #dataDir: string;
  readonly #logger: Logger;
  readonly #timer: NodeJS.Timeout;
  #copied = -1;
  #failed = -1;
  #notBefore = 0;
  #running: Promise<void> = Promise.resolve();
  #isRunning = false;

  constructor(db: StateDatabase, dataDir: string, logger: Logger) {
    this.#db = db;
    this.#dataDir = dataDir;
    this.#logger = logger;
    this.#timer = setInterval(() => {
      if (!this.#isRunning && performance.now() >= this.#notBefore) this.#running = this.#renew();
    }, EVERY_MS).unref();
  }

  /** Copies what changed last. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
    await this.#renew();
  }

  async #renew(): Promise<void> {
    const generation = this.#db.version()?.generation ?? 0;
    if (generation === this.#copied) return;
    this.#isRunning = true;
    const begun = performance.now();
    try {
      this.#copied = await this.#copy();
      this.#db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch (cause) {
      // Told once for each change, not every second.
      if (this.#failed !== generation) this.#logger.warn("the state could not be copied", { file: COPY_FILE, cause });
      this.#failed = generation;
    } finally {
      this.#notBefore = performance.now() + SHARE * (performance.now() - begun);
      this.#isRunning = false;
    }
  }

  /** Returns the copy's generation. A state that was damaged under a running server does not replace a good copy. */
  async #copy(): Promise<number> {
    const half = join(this.#dataDir, `${COPY_FILE}.new`);
    rmSync(half, { force: true });
    closeSync(openSync(half, "wx", 0o600));
    await backup(this.#db, half);
    const { state } = inspectState(half, true);
    if (state.kind !== "whole" || state.version === undefined) throw new Error(`The state is damaged (${state.kind}).`);
    const file = await open(half);
    try {
      await file.sync();
    } finally {
      await file.close();
    }
    renameSync(half, join(this.#dataDir, COPY_FILE));
    syncFolder(this.#dataDir);
    return state.version.generation;
  }
}
