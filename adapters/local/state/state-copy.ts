/**
 * Maintains `state.copy.sqlite`, a copy that is usually at most a second older than the state. If the state is lost or
 * damaged, `portside doctor --repair` uses the copy. After each copy, SQLite moves the content of the write-ahead log
 * to the state's file. If the log is then lost, only later changes are lost.
 */
import { renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { backup } from "node:sqlite";
import type { Logger } from "../../../core/ports/system.ts";
import { makePrivateFile } from "../data-folder/layout.ts";
import { syncFolder } from "./check-file.ts";
import type { StateDatabase } from "./database.ts";
import { COPY_FILE, inspectState } from "./inspect.ts";

/** The interval at which the server checks the state for changes. */
const EVERY_MS = 1000;
/** The pause after a copy is this many times as long as the copy took, because copying a large state is slow. */
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

  /** Stops the timer and copies the last changes. */
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
      // Log once for each change, not every second.
      if (this.#failed !== generation) this.#logger.warn("could not copy the state", { file: COPY_FILE, cause });
      this.#failed = generation;
    } finally {
      this.#notBefore = performance.now() + SHARE * (performance.now() - begun);
      this.#isRunning = false;
    }
  }

  /** Returns the generation of the new copy. Throws if the state is damaged, and keeps the previous copy. */
  async #copy(): Promise<number> {
    const partial = join(this.#dataDir, `${COPY_FILE}.new`);
    rmSync(partial, { force: true });
    makePrivateFile(partial);
    await backup(this.#db, partial);
    const { state } = inspectState(partial, true);
    if (state.kind !== "whole" || state.version === undefined) throw new Error(`The state is damaged (${state.kind}).`);
    {
      await using file = await open(partial);
      await file.sync();
    }
    renameSync(partial, join(this.#dataDir, COPY_FILE));
    syncFolder(this.#dataDir);
    return state.version.generation;
  }
}
