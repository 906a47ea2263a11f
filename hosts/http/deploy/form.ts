/** Reads a deploy's multipart form: fields to plain data, the archive to the control plane as it streams in. */
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { Busboy, type BusboyHeaders, type BusboyInstance } from "@fastify/busboy";
import type { ReceivedSource } from "../../../core/control-plane.ts";
import { archiveLimits, MiB } from "../../../core/domain/accounts/limits.ts";
import { deployFields } from "../../../core/domain/deploy/fields.ts";
import { formatMemory } from "../../../core/domain/deploy/resources.ts";
import { type Issue, issue } from "../../../core/domain/wire/issue.ts";
import type { ControlPlaneError } from "../../../core/errors.ts";
import type { ResultAsync } from "../../../core/result.ts";
import { hangUp, isCut } from "../disconnects.ts";

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
/** A body is read for this much past the file's limit, and a refused one for this long, so that the client sees the answer. */
const BODY_BYTES = archiveLimits.fileBytes + 32 * MiB;
const DRAIN_MS = 5000;
/** A client that sends nothing for this long is gone. */
const SILENCE_MS = 60_000;

/** All texts of a form together, so that no number of fields fills the memory. */
const TEXT_BYTES = 1 * MiB;

const limits = { fieldSize: TEXT_BYTES, fields: 100, files: 4, parts: 110, headerPairs: 50 };

/** Stands for a file where a text belongs: no field takes a list, so each refuses it in its own words. */
const A_FILE = ["a file"];

/** True for a file without a byte; what it has stays to be read. */
const isEmpty = (file: Readable): Promise<boolean> =>
  new Promise((resolve) => {
    const events = ["readable", "end", "close"];
    const decide = () => {
      for (const event of events) file.off(event, decide);
      resolve(file.readableLength === 0);
    };
    if (file.readableLength > 0 || file.readableEnded) return decide();
    for (const event of events) file.on(event, decide);
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
  #fileBytes = 0;
  #textBytes = 0;
  #archive: ReceivedSource | undefined;
  #error: ControlPlaneError | undefined;
  #bodyBytes = 0;
  #drained: NodeJS.Timeout | undefined;

  constructor(req: IncomingMessage, receive: Receive) {
    this.#req = req;
    this.#receive = receive;
  }

  async read(): Promise<ReadForm | undefined> {
    this.#parse();
    const ended = await this.#end.promise;
    const end = isCut(this.#req) ? "gone" : ended;
    this.#req.setTimeout(0);
    if (end !== "whole") this.#stop.abort();
    await Promise.all(this.#work).finally(() => clearTimeout(this.#drained));
    if (end === "gone") {
      if (this.#archive?.kind === "kept") await this.#archive.source.discard();
      return undefined;
    }
    this.#checkSizes();
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
    busboy.on("file", (name, file, filename) => {
      const taken = this.#file(name ?? "", file, filename);
      this.#work.push(taken);
      // Thrown again when the form is read; until then the rest is only passed over.
      taken.catch(() => this.#passOver(file));
    });
    for (const limit of ["partsLimit", "filesLimit", "fieldsLimit"] as const)
      busboy.on(limit, () => this.#issues.push(issue([], "has too many parts", "too_large")));
    busboy.on("finish", () => this.#end.resolve("whole"));
    busboy.on("error", () => this.#malformed());
    this.#stop.signal.addEventListener("abort", () => req.unpipe(busboy));
    req.on("data", (chunk: Buffer) => {
      this.#bodyBytes += chunk.length;
      if (this.#bodyBytes > BODY_BYTES) this.#end.resolve("unread");
    });
    req.once("close", () => {
      if (isCut(req)) this.#end.resolve("gone");
    });
    req.setTimeout(SILENCE_MS, () => hangUp(req));
    req.pipe(busboy);
  }

  #malformed(): void {
    if (!this.#stop.signal.aborted)
      this.#issues.push(issue([], "is not a well-formed multipart form, or is cut off", "value_error"));
    this.#stop.abort();
    this.#req.resume();
    this.#end.resolve("whole");
  }

  #field(name: string, value: string, cut: boolean): void {
    this.#textBytes += Buffer.byteLength(value);
    if (name === FILE)
      return void this.#issues.push(issue([name], "must be a file part, with a filename", "value_error"));
    if (Object.hasOwn(this.#fields, name))
      this.#issues.push(issue([name], "is given twice; send it once", "value_error"));
    const tooLarge = cut || this.#textBytes > TEXT_BYTES;
    if (tooLarge) this.#issues.push(issue([name], "takes the form's texts over 1 MiB", "too_large"));
    this.#fields[name] = tooLarge ? "" : value;
  }

  async #file(name: string, file: Readable, filename: string | undefined): Promise<void> {
    file.on("error", () => this.#malformed());
    // Whoever waits for the file's bytes must learn that none will come.
    this.#stop.signal.addEventListener("abort", () => file.destroy(new Error("the body is not read any further")));
    if ((filename ?? "") === "" && (await isEmpty(file))) return void file.resume();
    if (name !== FILE) {
      if (Object.hasOwn(deployFields, name)) this.#fields[name] = A_FILE;
      else this.#issues.push(issue([name], `unknown file '${name}'; the source is ${FILE}`, "extra_forbidden"));
      return void file.resume();
    }
    if (this.#files++ > 0) {
      this.#issues.push(issue([FILE], "is given twice; send one archive", "value_error"));
      return void file.resume();
    }
    const received = await this.#receive(this.#counted(file), this.#stop.signal);
    if (received.isErr()) this.#error = received.error;
    else this.#archive = received.value;
    if (received.isErr() || received.value.kind === "refused") this.#passOver(file);
  }

  #countFile(chunk: Uint8Array): void {
    this.#fileBytes += chunk.length;
  }

  /** The file's bytes, to be read as far as the reader likes; the stream is not destroyed by that. */
  async *#counted(file: Readable): AsyncGenerator<Uint8Array> {
    for await (const chunk of file.iterator({ destroyOnReturn: false })) {
      this.#countFile(chunk);
      yield chunk;
    }
  }

  /** From now on the body is only read so that the client gets to see the answer. */
  #passOver(file: Readable): void {
    file.on("data", (chunk: Uint8Array) => this.#countFile(chunk));
    file.resume();
    this.#drained ??= setTimeout(() => this.#end.resolve("unread"), DRAIN_MS);
  }

  /** What only shows when the reading is over. */
  #checkSizes(): void {
    if (this.#bodyBytes > BODY_BYTES) this.#issues.push(issue([], `is over ${formatMemory(BODY_BYTES)}`, "too_large"));
    const archive = this.#archive;
    if (archive?.kind !== "refused" || archive.issues.some(({ type }) => type === "too_large")) return;
    // It was refused for what is in it, and is too large besides.
    if (this.#fileBytes > archiveLimits.fileBytes)
      this.#issues.push(issue([FILE], `is over ${formatMemory(archiveLimits.fileBytes)}`, "too_large"));
  }
}

/** The form, read to its end; undefined where the client went away, and then nothing is kept. */
export const readForm = (req: IncomingMessage, receive: Receive): Promise<ReadForm | undefined> =>
  new FormReader(req, receive).read();
