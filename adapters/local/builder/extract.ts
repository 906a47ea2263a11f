/** Unpacks source archives in threads of their own, so that no archive takes the server's turn or its memory. */
import { randomUUID } from "node:crypto";
import { mkdir, rename } from "node:fs/promises";
import { Worker } from "node:worker_threads";
import type { DeployFailure } from "../../../core/domain/deploy-reason.ts";
import { unpackDeadline } from "../../../core/domain/limits.ts";
import type { Source } from "../../../core/ports/source-spool.ts";
import { Turns } from "../logs/turns.ts";
import { BuildFailed } from "./steps.ts";
import type { UnpackPiece, UnpackReport } from "./unpack.ts";

/** So many archives are unpacked at once, each of another account; the next ones wait. */
const AT_ONCE = 4;

/** A thread needs a few MiB: an archive's paths and one piece of its bytes. */
const MEMORY = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 32 };

/** Built, this file is JavaScript, and so is the thread's. */
const thread = new URL(`./unpack${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

const tooSlow = (deadline: number): DeployFailure => ({
  reason: "build_timeout",
  message: `Unpacking the archive took longer than ${deadline / 1000} s and was ended. Deploy fewer files, or look for a slow disk.`,
});

export interface Extraction {
  readonly source: Source;
  /** Empty; filled when the result is there, and not before. */
  readonly folder: string;
  /** Whose archive it is. */
  readonly owner: string;
}

/** Feeds the thread until it reports the end. Rejects where the thread or the source fails. */
const feed = async (worker: Worker, source: Source): Promise<string | undefined> => {
  const pieces = source.open()[Symbol.asyncIterator]();
  const ended = Promise.withResolvers<string | undefined>();
  const next = async (): Promise<void> => {
    const { done, value } = await pieces.next();
    // A piece may be a view of much more memory, all of which a message would take along.
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

export class Extractor {
  readonly #turns = new Turns(AT_ONCE);
  readonly #script: URL;
  readonly #deadline: number;

  /** @param deadline milliseconds for one archive, without the wait for its turn */
  constructor(script = thread, deadline: number = unpackDeadline) {
    this.#script = script;
    this.#deadline = deadline;
  }

  /**
   * Fails with `BuildFailed` past the deadline, and where the archive is refused, though the spool let it pass: then it
   * is not what was walked. Nothing writes any more once it has failed, also where the signal aborts.
   */
  extract(extraction: Extraction, signal: AbortSignal): Promise<void> {
    return this.#turns.take(extraction.owner, signal, () => this.#extract(extraction, signal));
  }

  async #extract({ source, folder }: Extraction, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const own = `${folder}.${randomUUID()}`;
    await mkdir(own);
    const worker = new Worker(this.#script, { workerData: own, resourceLimits: MEMORY });
    const aborted = Promise.withResolvers<never>();
    const abort = () => aborted.reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    const timer = setTimeout(() => aborted.reject(new BuildFailed(tooSlow(this.#deadline))), this.#deadline);
    try {
      const problem = await Promise.race([feed(worker, source), aborted.promise]);
      if (problem !== undefined)
        throw new BuildFailed({ reason: "archive_invalid", message: `The archive ${problem}.` });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      await worker.terminate();
    }
    await rename(own, folder);
  }
}
