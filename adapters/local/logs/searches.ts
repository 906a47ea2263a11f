/** Searches by a filter, in threads of their own: no client's filter takes the turn of other requests. */
import Tinypool from "tinypool";
import type { LogFindings } from "../../../core/ports/log-store.ts";
import type { Search } from "./scan.ts";

/** So many searches run at once; the next ones wait. */
const AT_ONCE = 2;
/** A thread that has nothing to do ends after this long, and its memory is free. */
const IDLE_MS = 30_000;

/** Built, this file is JavaScript, and so is the one beside it. */
const worker = new URL(`./scan${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

export class Searches {
  #threads: Tinypool | undefined;

  /** Ends the search, and its thread, when the signal aborts. */
  async run(search: Search, signal: AbortSignal | undefined): Promise<LogFindings> {
    this.#threads ??= new Tinypool({
      filename: worker.href,
      runtime: "worker_threads",
      minThreads: 0,
      maxThreads: AT_ONCE,
      idleTimeout: IDLE_MS,
    });
    return this.#threads.run(search, { name: "scan", ...(signal === undefined ? {} : { signal }) });
  }

  async close(): Promise<void> {
    await this.#threads?.destroy();
  }
}
