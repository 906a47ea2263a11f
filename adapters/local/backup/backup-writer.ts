/** Writes the entries of a backup to a compressed file, and computes their digest. */
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createGzip, type Gzip } from "node:zlib";
import {
  type BackupEnd,
  type BackupEntry,
  type BackupHead,
  BLOCK,
  DATA,
  END,
  encodeEntry,
  HEAD,
  paddingOf,
} from "./format.ts";

/** The fastest level. Most content is already compressed, so slower levels would save little. */
const LEVEL = 1;

const document = (path: string, size: number): BackupEntry => ({
  path,
  size,
  type: "file",
  mode: 0o600,
  uid: 0,
  gid: 0,
  target: "",
  modified: 0,
});

export class BackupWriter implements AsyncDisposable {
  readonly #gzip: Gzip = createGzip({ level: LEVEL });
  readonly #written: Promise<void>;
  readonly #hash = createHash("sha256");
  readonly #onProgress: (bytes: number) => unknown;
  #failure: unknown;
  /** Resumes a write that waits for the compressor to accept more bytes. */
  #resume: () => void = () => undefined;
  #entries = 0;
  /** The number of bytes that the caller must still write to complete the content of the last entry. */
  #left = 0;
  #padding = 0;

  /** @param path the path of the new file, which must not exist */
  constructor(path: string, onProgress: (bytes: number) => unknown) {
    this.#onProgress = onProgress;
    this.#written = pipeline(this.#gzip, createWriteStream(path, { flags: "wx", mode: 0o600, flush: true }));
    this.#gzip.on("drain", () => this.#resume());
    // The next write reports the error.
    this.#written.catch((error: unknown) => {
      this.#failure = error;
      this.#resume();
    });
  }

  async begin(head: BackupHead): Promise<void> {
    await this.#document(HEAD, head);
  }

  /** Starts an entry of the data folder. The caller must write its content next. */
  async entry(entry: BackupEntry): Promise<void> {
    this.#entries++;
    await this.#header({ ...entry, path: `${DATA}/${entry.path}` });
  }

  /** Writes the next bytes of the last entry. The caller must not change the buffer afterwards. */
  async content(bytes: Buffer): Promise<void> {
    this.#left -= bytes.length;
    await this.#write(bytes);
    if (this.#left === 0 && this.#padding > 0) await this.#write(Buffer.alloc(this.#padding));
  }

  /** Resolves when the whole file is on disk. */
  async end(counts: Omit<BackupEnd, "sha256" | "entries">): Promise<void> {
    await this.#document(END, { sha256: this.#hash.copy().digest("hex"), entries: this.#entries, ...counts });
    await this.#write(Buffer.alloc(2 * BLOCK));
    this.#gzip.end();
    await this.#written;
  }

  /** Closes the file. The file is incomplete if the caller did not call `end`. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#gzip.destroy();
    await this.#written.catch(() => undefined);
  }

  async #document(path: string, content: object): Promise<void> {
    const bytes = Buffer.from(JSON.stringify(content));
    await this.#header(document(path, bytes.length));
    await this.content(bytes);
  }

  async #header(entry: BackupEntry): Promise<void> {
    if (this.#left !== 0) throw new Error("The content of the previous entry does not match the size in its header.");
    this.#left = entry.size;
    this.#padding = paddingOf(entry.size);
    await this.#write(encodeEntry(entry));
  }

  async #write(bytes: Buffer): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    this.#hash.update(bytes);
    await this.#onProgress(bytes.length);
    if (this.#gzip.write(bytes)) return;
    // `Promise.race` with `#written` would keep each race in memory until the file is complete.
    await new Promise<void>((resolve) => {
      this.#resume = resolve;
      if (this.#failure !== undefined || !this.#gzip.writableNeedDrain) resolve();
    });
    if (this.#failure !== undefined) throw this.#failure;
  }
}
