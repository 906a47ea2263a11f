/** Runs filtered searches in separate threads, so that no client's filter delays other requests. */
import Tinypool from "tinypool";
import type { LogCounts, LogFindings } from "../../../core/ports/log-store.ts";
import { FairSemaphore } from "../../shared/runtime/fair-semaphore.ts";
import { packagedScript } from "../../shared/runtime/packaged-script.ts";
import type { LogCount } from "./count.ts";
import { count as countHere, isWhole, type LogSearch, search as searchHere } from "./scan.ts";

/** Maximum number of concurrent searches, each of a different account; further ones wait. */
const MAX_CONCURRENT = 2;
/** An idle thread ends after this many milliseconds, which frees its memory. */
const IDLE_MS = 30_000;

/**
 * Without threads, a search may block the event loop this long. It then returns partial results, and the next search
 * continues from there.
 */
const BLOCKING_MS = 100;

/** The message of Tinypool's error, which has no code, for a task whose thread was terminated. */
const TERMINATED = "Terminating worker thread";

/** How often a search may lose its thread to a cancelled search. */
const MAX_TRIES = 5;

const script = packagedScript(import.meta.url, "adapters/local/logs/searches", "adapters/local/logs/scan");

/** The work of a thread: the name of the script's function, and the same function for a bundle. */
interface Work<W, T> {
  readonly name: string;
  readonly here: (wanted: W) => T;
}

export class Searches {
  readonly #semaphore = new FairSemaphore(MAX_CONCURRENT);
  readonly #script: URL | null;
  #threads: Tinypool | undefined;
  #closed = false;

  /** @param worker the thread's script; null in a bundle, where searches run in the caller's thread */
  constructor(worker: URL | null = script) {
    this.#script = worker;
  }

  /**
   * Runs a search. Stops the search and its thread when the signal aborts. The timeout includes the wait for a thread.
   */
  run(search: LogSearch, signal: AbortSignal | undefined): Promise<LogFindings | "damaged"> {
    return this.#inTurn({ name: "searchInThread", here: searchHere }, search, signal);
  }

  /** Counts the entries of a log, like `run`. */
  count(wanted: LogCount, signal: AbortSignal | undefined): Promise<LogCounts | "damaged"> {
    return this.#inTurn({ name: "countInThread", here: countHere }, wanted, signal);
  }

  /** Whether every page of the file can be read. */
  async isWhole(path: string): Promise<boolean> {
    return this.#script === null ? isWhole(path) : this.#runScript(this.#script, "isWhole", path, undefined);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#threads?.destroy();
  }

  #inTurn<W extends LogSearch | LogCount, T>(work: Work<W, T>, wanted: W, signal: AbortSignal | undefined): Promise<T> {
    const { scope, query } = wanted;
    const ends = performance.now() + query.timeoutMs;
    return this.#semaphore.take(scope.owner, signal, () =>
      this.#inThread(work, { ...wanted, query: { ...query, timeoutMs: ends - performance.now() } }, signal),
    );
  }

  async #inThread<W extends LogSearch | LogCount, T>(
    { name, here }: Work<W, T>,
    wanted: W,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    if (this.#script !== null) return this.#runScript(this.#script, name, wanted, signal);
    const { query } = wanted;
    return here({ ...wanted, query: { ...query, timeoutMs: Math.min(query.timeoutMs, BLOCKING_MS) } });
  }

  /**
   * Runs a function of the script in a thread. Repeats it if the thread ends because of another search: Tinypool may
   * give a waiting task to the thread of a cancelled one, which it is about to terminate.
   */
  async #runScript<T>(worker: URL, name: string, wanted: unknown, signal: AbortSignal | undefined): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#pool(worker).run(wanted, { name, ...(signal === undefined ? {} : { signal }) });
      } catch (error) {
        const isTerminated = error instanceof Error && error.message === TERMINATED;
        if (!isTerminated || this.#closed || signal?.aborted === true || tries === MAX_TRIES) throw error;
      }
    }
  }

  #pool(worker: URL): Tinypool {
    this.#threads ??= new Tinypool({
      filename: worker.href,
      runtime: "worker_threads",
      minThreads: 0,
      maxThreads: MAX_CONCURRENT,
      idleTimeout: IDLE_MS,
    });
    return this.#threads;
  }
}
