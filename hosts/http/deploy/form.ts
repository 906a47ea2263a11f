/** Reads a deploy's multipart form: collects the fields, and streams the archive to the control plane. */
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { Busboy, type BusboyHeaders, type BusboyInstance } from "@fastify/busboy";
import type { DeployFields, ReceivedSource } from "../../../core/control-plane.ts";
import { archiveLimits, MiB } from "../../../core/domain/accounts/limits.ts";
import { deployFields } from "../../../core/domain/deploy/fields.ts";
import { formatMemory } from "../../../core/domain/deploy/resources.ts";
import { type Issue, issue } from "../../../core/domain/wire/issue.ts";
import type { ControlPlaneError } from "../../../core/errors.ts";
import type { ResultAsync } from "../../../core/result.ts";
import { hangUp, requestAborted } from "../disconnects.ts";

export interface ReadForm {
  /** The fields as the client sent them. The control plane validates them. */
  readonly fields: DeployFields;
  /** Issues of the form itself, such as a field that occurs twice. */
  readonly issues: readonly Issue[];
  readonly archive?: ReceivedSource;
  /** The control plane's error, if it could not receive the file. */
  readonly error?: ControlPlaneError;
  /** True if the reader stopped before the end of the body. The caller must then close the connection. */
  readonly unread: boolean;
}

const FILE = "source_archive";
/**
 * Many clients read the response only after they have sent the whole body. The reader therefore continues to read a
 * body that it cannot use: up to `BODY_BYTES` in total, and up to `DRAIN_MS` after the archive failed.
 */
const BODY_BYTES = archiveLimits.fileBytes + 32 * MiB;
const DRAIN_MS = 5000;
/** How long a client may send nothing before the server disconnects it. */
const SILENCE_MS = 60_000;

/** The limit on all text fields together. It bounds the memory that a form uses. */
const TEXT_BYTES = 1 * MiB;

const limits = { fieldSize: TEXT_BYTES, fields: 100, files: 4, parts: 110, headerPairs: 50 };

/** The placeholder for a text field sent as a file. No field accepts a list, so validation reports an issue for it. */
const A_FILE = ["a file"];

/** Returns whether the file is empty, without consuming its bytes. */
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

/** Why the reader stopped: at the end of the body, at a limit before the end, or because the client disconnected. */
type End = "whole" | "unread" | "disconnected";

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
    const end = requestAborted(this.#req) ? "disconnected" : ended;
    this.#req.setTimeout(0);
    if (end !== "whole") this.#stop.abort();
    await Promise.all(this.#work).finally(() => clearTimeout(this.#drained));
    if (end === "disconnected") {
      if (this.#archive?.kind === "accepted") await this.#archive.source.discard();
      return undefined;
    }
    this.#checkSizes();
    return {
      fields: this.#fields as unknown as DeployFields,
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
      // `read` awaits the same promise and throws its error. Until then, the rest of the body must be drained.
      taken.catch(() => this.#drain(file));
    });
    for (const kind of ["parts", "files", "fields"] as const)
      busboy.on(`${kind}Limit`, () =>
        this.#issues.push(issue([], `has more than ${limits[kind]} ${kind}`, "too_large")),
      );
    busboy.on("finish", () => this.#end.resolve("whole"));
    busboy.on("error", () => this.#malformed());
    this.#stop.signal.addEventListener("abort", () => req.unpipe(busboy));
    req.on("data", (chunk: Buffer) => {
      this.#bodyBytes += chunk.length;
      if (this.#bodyBytes > BODY_BYTES) this.#end.resolve("unread");
    });
    req.once("close", () => {
      if (requestAborted(req)) this.#end.resolve("disconnected");
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
      this.#issues.push(issue([name], "occurs twice; send it once", "value_error"));
    const tooLarge = cut || this.#textBytes > TEXT_BYTES;
    if (tooLarge)
      this.#issues.push(issue([name], "exceeds the limit of 1 MiB for all text fields together", "too_large"));
    this.#fields[name] = tooLarge ? "" : value;
  }

  async #file(name: string, file: Readable, filename: string | undefined): Promise<void> {
    file.on("error", () => this.#malformed());
    // Fails the stream, because the control plane may be waiting for the file's next bytes.
    this.#stop.signal.addEventListener("abort", () => file.destroy(new Error("the body is not read any further")));
    if ((filename ?? "") === "" && (await isEmpty(file))) return void file.resume();
    if (name !== FILE) {
      if (Object.hasOwn(deployFields, name)) this.#fields[name] = A_FILE;
      else this.#issues.push(issue([name], `unknown file '${name}'; send the source as ${FILE}`, "extra_forbidden"));
      return void file.resume();
    }
    if (this.#files++ > 0) {
      this.#issues.push(issue([FILE], "occurs twice; send one archive", "value_error"));
      return void file.resume();
    }
    const received = await this.#receive(this.#counted(file), this.#stop.signal);
    if (received.isErr()) this.#error = received.error;
    else this.#archive = received.value;
    if (received.isErr() || received.value.kind === "rejected") this.#drain(file);
  }

  #countFile(chunk: Uint8Array): void {
    this.#fileBytes += chunk.length;
  }

  /** Yields the file's bytes. Does not destroy the stream if the consumer stops early: the rest must be drained. */
  async *#counted(file: Readable): AsyncGenerator<Uint8Array> {
    for await (const chunk of file.iterator({ destroyOnReturn: false })) {
      this.#countFile(chunk);
      yield chunk;
    }
  }

  /** Reads and drops the rest of the body, so that the client reads the response. */
  #drain(file: Readable): void {
    file.on("data", (chunk: Uint8Array) => this.#countFile(chunk));
    file.resume();
    this.#drained ??= setTimeout(() => this.#end.resolve("unread"), DRAIN_MS);
  }

  #checkSizes(): void {
    if (this.#bodyBytes > BODY_BYTES) this.#issues.push(issue([], `is over ${formatMemory(BODY_BYTES)}`, "too_large"));
    const archive = this.#archive;
    if (archive?.kind !== "rejected" || archive.issues.some(({ type }) => type === "too_large")) return;
    // An archive with other issues may also be too large.
    if (this.#fileBytes > archiveLimits.fileBytes)
      this.#issues.push(issue([FILE], `is over ${formatMemory(archiveLimits.fileBytes)}`, "too_large"));
  }
}

/** Reads the form. If the client disconnected, discards the archive and returns undefined. */
export const readForm = (req: IncomingMessage, receive: Receive): Promise<ReadForm | undefined> =>
  new FormReader(req, receive).read();
