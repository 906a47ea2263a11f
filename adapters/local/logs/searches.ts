/** Searches by a filter, in threads of their own: no client's filter takes the turn of other requests. */
import Tinypool from "tinypool";
import type { LogFindings } from "../../../core/ports/log-store.ts";
import type { Search } from "./scan.ts";
import { Turns } from "./turns.ts";

/** So many searches run at once, each of another account; the next ones wait. */
const AT_ONCE = 2;
/** A thread that has nothing to do ends after this long, and its memory is free. */
const IDLE_MS = 30_000;

/** Built, this file is JavaScript, and so is the one beside it. */
const worker = new URL(`./scan${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

export class Searches {
  readonly #turns = new Turns(AT_ONCE);
  #threads: Tinypool | undefined;

  /** Ends the search, and its thread, when the signal aborts. Its patience is counted from now on, waiting included. */
  run(search: Search, signal: AbortSignal | undefined): Promise<LogFindings | "damaged"> {
    const { scope, query } = search;
    const ends = performance.now() + query.patience;
    return this.#turns.take(scope.owner, signal, () =>
      this.#inThread({ ...search, query: { ...query, patience: ends - performance.now() } }, signal),
    );
  }

  /** Whether every page of the file can be read. */
  isWhole(path: string): Promise<boolean> {
    return this.#pool().run(path, { name: "isWhole" });
  }

  async close(): Promise<void> {
    await this.#threads?.destroy();
  }

  #inThread(search: Search, signal: AbortSignal | undefined): Promise<LogFindings | "damaged"> {
    return this.#pool().run(search, { name: "search", ...(signal === undefined ? {} : { signal }) });
  }

  #pool(): Tinypool {
    this.#threads ??= new Tinypool({
      filename: worker.href,
      runtime: "worker_threads",
      minThreads: 0,
      maxThreads: AT_ONCE,
      idleTimeout: IDLE_MS,
    });
    return this.#threads;
  }
}
