/** Reads a deploy's multipart form: fields to plain data, the archive to the control plane as it streams in. */
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { Busboy, type BusboyHeaders, type BusboyInstance } from "@fastify/busboy";
import type { ReceivedSource } from "../../core/control-plane.ts";
import { type Issue, issue } from "../../core/domain/issue.ts";
import type { ControlPlaneError } from "../../core/errors.ts";
import type { ResultAsync } from "../../core/result.ts";

export interface ReadForm {
  readonly fields: Readonly<Record<string, unknown>>;
  /** What is wrong with the form itself, by field. */
  readonly issues: readonly Issue[];
  readonly archive?: ReceivedSource;
  /** The file could not be taken at all. */
  readonly error?: ControlPlaneError;
  /** More of the body is left than was worth reading; the connection is of no further use. */
  readonly unread: boolean;
}

const FILE = "source_archive";
/** A refused body is read on for this much and this long, so that the client gets to see the answer. */
const DRAIN_BYTES = 32 * 1024 * 1024;
const DRAIN_MS = 5000;
/** A client that sends nothing for this long is gone. */
const SILENCE_MS = 60_000;

const limits = { fieldNameSize: 200, fieldSize: 1024 * 1024, fields: 100, files: 4, parts: 110, headerPairs: 50 };

/** A file's bytes, to be read as far as the reader likes; what is left is dropped, the stream is not destroyed. */
async function* chunksOf(file: Readable): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of file.iterator({ destroyOnReturn: false })) yield chunk as Uint8Array;
  } finally {
    file.resume();
  }
}

/** True for a file without a byte; what it has stays to be read. */
const isEmpty = (file: Readable): Promise<boolean> =>
  new Promise((resolve) => {
    const decide = () => {
      file.off("readable", decide);
      file.off("end", decide);
      resolve(file.readableLength === 0);
    };
    if (file.readableLength > 0 || file.readableEnded) return decide();
    file.on("readable", decide);
    file.on("end", decide);
  });

export type Receive = (
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
) => ResultAsync<ReceivedSource, ControlPlaneError>;

/** How the reading of the body ended: at its end, before it because the rest was too much, or because the client left. */
type End = "whole" | "unread" | "gone";

class FormReader {
  readonly #req: IncomingMessage;
  readonly #receive: Receive;
  readonly #fields: Record<string, unknown> = Object.create(null);
  readonly #issues: Issue[] = [];
  readonly #stop = new AbortController();
  readonly #end = Promise.withResolvers<End>();
  readonly #work: Promise<void>[] = [];
  #files = 0;
  #archive: ReceivedSource | undefined;
  #error: ControlPlaneError | undefined;
  #drain: { bytes: number; readonly timer: NodeJS.Timeout } | undefined;

  constructor(req: IncomingMessage, receive: Receive) {
    this.#req = req;
    this.#receive = receive;
  }

  async read(): Promise<ReadForm | undefined> {
    this.#parse();
    const end = await this.#end.promise;
    this.#req.setTimeout(0);
    clearTimeout(this.#drain?.timer);
    if (end !== "whole") this.#stop.abort(new Error("the body is not read any further"));
    await Promise.all(this.#work);
    if (end === "gone") {
      if (this.#archive?.kind === "kept") await this.#archive.source.discard();
      return undefined;
    }
    return {
      fields: this.#fields,
      issues: this.#issues,
      unread: end === "unread",
      ...(this.#archive === undefined ? {} : { archive: this.#archive }),
      ...(this.#error === undefined ? {} : { error: this.#error }),
    };
  }

  #parse(): void {
    const req = this.#req;
    let busboy: BusboyInstance;
    try {
      busboy = new Busboy({ headers: req.headers as BusboyHeaders, limits });
    } catch {
      this.#issues.push(issue([], "must be a multipart form with a boundary", "value_error"));
      req.resume();
      return this.#end.resolve("whole");
    }
    busboy.on("field", (name, value, _nameCut, cut) => this.#field(name ?? "", value, cut));
    busboy.on("file", (name, file, filename) => this.#work.push(this.#file(name ?? "", file, filename)));
    for (const limit of ["partsLimit", "filesLimit", "fieldsLimit"] as const)
      busboy.on(limit, () => this.#issues.push(issue([], "has too many parts", "too_large")));
    busboy.on("finish", () => this.#end.resolve("whole"));
    busboy.on("error", () => this.#malformed());
    this.#stop.signal.addEventListener("abort", () => req.unpipe(busboy));
    req.on("data", (chunk: Buffer) => {
      if (this.#drain === undefined) return;
      this.#drain.bytes -= chunk.length;
      if (this.#drain.bytes < 0) this.#end.resolve("unread");
    });
    req.once("close", () => {
      if (!req.complete) this.#end.resolve("gone");
    });
    req.setTimeout(SILENCE_MS, () => req.destroy());
    req.pipe(busboy);
  }

  #malformed(): void {
    this.#issues.push(issue([], "is not a well-formed multipart form, or is cut off", "value_error"));
    this.#stop.abort(new Error("the form is malformed"));
    this.#req.resume();
    this.#end.resolve("whole");
  }

  #field(name: string, value: string, cut: boolean): void {
    if (Object.hasOwn(this.#fields, name))
      this.#issues.push(issue([name], "is given twice; send it once", "value_error"));
    else if (cut) this.#issues.push(issue([name], "is over 1 MiB", "too_large"));
    if (name !== FILE) this.#fields[name] = value;
    else this.#issues.push(issue([name], "must be a file part, with a filename", "value_error"));
  }

  async #file(name: string, file: Readable, filename: string | undefined): Promise<void> {
    file.on("error", () => this.#malformed());
    if ((filename ?? "") === "" && (await isEmpty(file))) return void file.resume();
    if (name !== FILE) {
      this.#fields[name] = "";
      return void file.resume();
    }
    if (this.#files++ > 0) {
      this.#issues.push(issue([FILE], "is given twice; send one archive", "value_error"));
      return void file.resume();
    }
    const broken = () => file.destroy(new Error("the body is not read any further"));
    this.#stop.signal.addEventListener("abort", broken);
    const received = await this.#receive(chunksOf(file), this.#stop.signal);
    this.#stop.signal.removeEventListener("abort", broken);
    if (received.isErr()) this.#error = received.error;
    else this.#archive = received.value;
    if (received.isErr() || received.value.kind === "refused") this.#drainRest();
  }

  /** From now on the body is only read so that the client gets to see the answer. */
  #drainRest(): void {
    this.#drain ??= { bytes: DRAIN_BYTES, timer: setTimeout(() => this.#end.resolve("unread"), DRAIN_MS) };
  }
}

/** The form, read to its end; undefined where the client went away, and then nothing is kept. */
export const readForm = (req: IncomingMessage, receive: Receive): Promise<ReadForm | undefined> =>
  new FormReader(req, receive).read();
