/**
 * Unpacks each source archive in a separate thread, so no archive blocks the server or exhausts its memory. A bundle
 * lacks the thread's script, and unpacks archives in the caller's thread.
 */
import { randomUUID } from "node:crypto";
import { mkdir, rename } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { archiveLimits, unpackDeadlineMs } from "../../../core/domain/accounts/limits.ts";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import type { Source } from "../../../core/ports/source-spool.ts";
import { ArchiveWalk } from "../../shared/archives/archive-walk.ts";
import { FairSemaphore } from "../../shared/runtime/fair-semaphore.ts";
import { packagedScript } from "../../shared/runtime/packaged-script.ts";
import { BuildError } from "./run-command.ts";
import { TreeWriter } from "./tree-writer.ts";
import type { UnpackPiece, UnpackReport } from "./unpack.ts";

/** The maximum number of archives that are unpacked concurrently. Each account unpacks one archive at a time. */
const MAX_CONCURRENT = 4;

/** A thread needs a few MiB, for the paths in an archive and one chunk of its bytes. */
const MEMORY = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 32 };

const thread = packagedScript(import.meta.url, "adapters/local/builds/extract", "adapters/local/builds/unpack");

const tooSlow = (deadline: number): DeployFailure => ({
  reason: "build_timeout",
  message: `Unpacking the archive took longer than ${deadline / 1000} s. Deploy fewer files, or check the speed of the platform's disk.`,
});

export interface Extraction {
  readonly source: Source;
  /** An empty folder. It stays empty until the archive is completely unpacked. */
  readonly folder: string;
  readonly owner: string;
}

/** Passes chunks to the thread until the thread reports the end. Rejects if the thread or the source fails. */
const feed = async (worker: Worker, source: Source): Promise<string | undefined> => {
  const pieces = source.open()[Symbol.asyncIterator]();
  const ended = Promise.withResolvers<string | undefined>();
  const next = async (): Promise<void> => {
    const { done, value } = await pieces.next();
    // Copies the chunk, because it may be a view of a larger buffer, and a transfer would move the whole buffer.
    const piece: UnpackPiece = done === true ? null : new Uint8Array(value);
    worker.postMessage(piece, piece === null ? [] : [piece.buffer]);
  };
  worker.on("message", (report: UnpackReport) => {
    if (report.kind === "done") ended.resolve(report.problem);
    else next().catch(ended.reject);
  });
  worker.once("error", ended.reject);
  worker.once("exit", (code) => ended.reject(new Error(`The thread that unpacks an archive exited with ${code}.`)));
  try {
    return await ended.promise;
  } finally {
    await pieces.return?.();
  }
};

const walkAll = async (source: Source, walk: ArchiveWalk): Promise<string | undefined> => {
  for await (const piece of source.open()) {
    await walk.write(piece);
    if (walk.problem !== undefined) return walk.problem;
    // The writes block, so yield to the event loop after each chunk.
    await setImmediate();
  }
  await walk.end();
  return walk.problem;
};

interface Unpacking {
  /** Resolves with the archive's problem, or with undefined on success. */
  readonly problem: Promise<string | undefined>;
  /** Resolves when all writing has stopped. */
  stop(): Promise<void>;
}

const unpackInThread = (script: URL, source: Source, folder: string): Unpacking => {
  const worker = new Worker(script, { workerData: folder, resourceLimits: MEMORY });
  return { problem: feed(worker, source), stop: async () => void (await worker.terminate()) };
};

const unpackInProcess = (source: Source, folder: string): Unpacking => {
  const writer = new TreeWriter(folder);
  const stopped = Promise.withResolvers<never>();
  stopped.promise.catch(() => undefined);
  let isStopped = false;
  const stop = (cause: unknown) => {
    if (isStopped) return;
    isStopped = true;
    writer.close();
    stopped.reject(cause);
  };
  /**
   * Reports an error through the promise. The walk calls its visitor from an event listener, where an exception would
   * end the process.
   */
  const unlessStopped = (write: () => void) => {
    try {
      if (!isStopped) write();
    } catch (error) {
      stop(error);
    }
  };
  const walk = new ArchiveWalk(archiveLimits, {
    entry: (entry) => unlessStopped(() => writer.entry(entry)),
    content: (bytes) => unlessStopped(() => writer.content(bytes)),
  });
  return {
    problem: Promise.race([walkAll(source, walk), stopped.promise]),
    stop: async () => {
      stop(new Error("Unpacking was stopped."));
      walk.close();
    },
  };
};

export class Extractor {
  readonly #semaphore = new FairSemaphore(MAX_CONCURRENT);
  readonly #script: URL | null;
  readonly #deadline: number;

  /**
   * @param script the script of the thread; null in a bundle, where the caller's thread unpacks the archives
   * @param deadline the maximum time to unpack one archive, in milliseconds, excluding the wait for a free thread
   */
  constructor(script: URL | null = thread, deadline: number = unpackDeadlineMs) {
    this.#script = script;
    this.#deadline = deadline;
  }

  /**
   * Rejects with `BuildError` after the deadline, or if the archive is invalid. The spool checks each archive as it
   * arrives, so an archive that is invalid here has changed in the spool. Writes nothing after a failure or an abort.
   */
  extract(extraction: Extraction, signal: AbortSignal): Promise<void> {
    return this.#semaphore.take(extraction.owner, signal, () => this.#extract(extraction, signal));
  }

  async #extract({ source, folder }: Extraction, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const own = `${folder}.${randomUUID()}`;
    await mkdir(own);
    const unpacking = this.#script === null ? unpackInProcess(source, own) : unpackInThread(this.#script, source, own);
    const aborted = Promise.withResolvers<never>();
    const abort = () => aborted.reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    const timer = setTimeout(() => aborted.reject(new BuildError(tooSlow(this.#deadline))), this.#deadline);
    try {
      const problem = await Promise.race([unpacking.problem, aborted.promise]);
      if (problem !== undefined)
        throw new BuildError({ reason: "archive_invalid", message: `The archive ${problem}.` });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      await unpacking.stop();
    }
    await rename(own, folder);
  }
}
