/**
 * Walks a tar.gz while it streams by, applying the core's rule to every entry before its content is read.
 * Memory stays flat whatever the archive claims to be.
 */
import { createGunzip, type Gunzip } from "node:zlib";
import { Parser, type ReadEntry } from "tar";
import { type ArchiveEntry, type ArchiveUse, admitEntry, emptyArchive } from "../../core/domain/archive.ts";
import { type ArchiveLimits, MiB } from "../../core/domain/limits.ts";

const types: Readonly<Record<string, ArchiveEntry["type"]>> = {
  File: "file",
  OldFile: "file",
  ContiguousFile: "file",
  Directory: "folder",
};

/** Unpacked bytes that belong to no entry: headers and padding. More is a bomb in disguise. */
const OVERHEAD_BYTES = 128 * MiB;
/** Tar pads its end to a record, which is 10 KiB with every common tool. */
const TRAILING_BYTES = 1 * MiB;

const NOT_GZIP = "is not a gzip file; pack it with 'tar -czf'";
const NOT_TAR = "is gzip, but not a tar archive; pack it with 'tar -czf'";
const TRUNCATED = "is cut off; send it whole";

export class ArchiveWalk {
  readonly #limits: ArchiveLimits;
  readonly #gunzip: Gunzip;
  readonly #parser: Parser;
  /** Resolves when the unpacking is over: at the archive's end, at damage, or at a refusal. */
  readonly #closed: Promise<void>;
  #head = Buffer.alloc(0);
  #use: ArchiveUse = emptyArchive;
  #problem: string | undefined;
  #unpacked = 0;
  #endedAt: number | undefined;

  constructor(limits: ArchiveLimits) {
    this.#limits = limits;
    this.#gunzip = createGunzip({ chunkSize: 256 * 1024 });
    this.#parser = new Parser({ strict: true, gzip: false, onReadEntry: (entry) => this.#admit(entry) });
    // A refusal may arrive between two writes; each is noted, and the first one counts.
    this.#parser.on("error", (error: Error & { tarCode?: string }) => this.#fail(parserWords(error)));
    this.#parser.on("eof", () => {
      this.#endedAt ??= this.#unpacked;
    });
    this.#closed = new Promise((resolve) => this.#gunzip.once("close", resolve));
    this.#gunzip.on("data", (chunk: Buffer) => this.#unpack(chunk));
    this.#gunzip.on("error", (error: NodeJS.ErrnoException) => this.#fail(gunzipWords(error)));
  }

  /** What is wrong with the archive so far, as a clause that follows "the archive". */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Takes the next bytes of the archive; resolves when they have been walked. */
  async write(chunk: Uint8Array): Promise<void> {
    if (this.#problem !== undefined) return;
    if (this.#head.length < 2) {
      this.#head = Buffer.concat([this.#head, chunk.subarray(0, 2)]);
      if (this.#head.length >= 2 && (this.#head[0] !== 0x1f || this.#head[1] !== 0x8b)) return this.#fail(NOT_GZIP);
    }
    const written = new Promise<void>((resolve) => this.#gunzip.write(chunk, () => resolve()));
    await Promise.race([written, this.#closed]);
  }

  /** Ends the walk; afterwards `problem` is final. */
  async end(): Promise<void> {
    if (this.#head.length < 2) return this.#fail(this.#head.length === 0 ? "is empty" : NOT_GZIP);
    if (this.#problem !== undefined) return;
    this.#gunzip.end();
    await this.#closed;
    if (this.#problem !== undefined) return;
    this.#parser.end();
    if (this.#problem === undefined && this.#use.entries === 0) this.#fail("has no files in it");
  }

  #fail(problem: string): void {
    this.#problem ??= problem;
    this.#gunzip.destroy();
  }

  #unpack(chunk: Buffer): void {
    if (this.#problem !== undefined) return;
    this.#unpacked += chunk.length;
    if (this.#unpacked > this.#use.bytes + OVERHEAD_BYTES)
      return this.#fail("unpacks to far more than its entries hold");
    if (this.#endedAt !== undefined && this.#unpacked > this.#endedAt + TRAILING_BYTES)
      return this.#fail("goes on after its end");
    if (this.#endedAt === undefined) this.#parser.write(chunk);
  }

  #admit(entry: ReadEntry): void {
    entry.resume();
    if (this.#problem !== undefined) return;
    const { path, size } = entry;
    const verdict = admitEntry(this.#use, { path, size, type: types[entry.type] ?? "other" }, this.#limits);
    if ("problem" in verdict) this.#fail(`is refused: ${verdict.problem}`);
    else this.#use = verdict.use;
  }
}

const gunzipWords = (error: NodeJS.ErrnoException): string =>
  error.code === "Z_BUF_ERROR" ? TRUNCATED : "is damaged: its gzip data does not add up";

const parserWords = (error: Error & { tarCode?: string }): string =>
  error.message.startsWith("Truncated") ? TRUNCATED : NOT_TAR;
