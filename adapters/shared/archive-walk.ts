/**
 * Walks a tar.gz while it streams by, applying the core's rule to every entry before its content is read.
 * Memory stays flat whatever the archive claims to be.
 */
import { createGunzip, type Gunzip } from "node:zlib";
import { type Header, Parser, type ReadEntry } from "tar";
import { type ArchiveEntry, type ArchiveUse, admitEntry, emptyArchive } from "../../core/domain/archive.ts";
import { type ArchiveLimits, KiB, MiB } from "../../core/domain/limits.ts";
import { archiveEntryOf } from "./archive-entry.ts";
import { TarPieces } from "./tar-pieces.ts";

/** Unpacked bytes that are no entry's content: headers and padding. More is a bomb in disguise. */
const OVERHEAD_BYTES = 32 * MiB;
const ENTRY_OVERHEAD_BYTES = 8 * KiB;
/** Tar pads its end to a record, which is 10 KiB with every common tool. */
const TRAILING_BYTES = 1 * MiB;

const NOT_GZIP = "is not a gzip file; pack it with 'tar -czf'";
const NOT_TAR = "is gzip, but not a tar archive; pack it with 'tar -czf'";
const TRUNCATED = "is cut off; send it whole";

/** With what gzip begins, and no path that is taken. */
const GZIP_MARK = 0x1f;

export class ArchiveWalk {
  readonly #limits: ArchiveLimits;
  readonly #gunzip: Gunzip;
  readonly #parser: Parser;
  readonly #pieces = new TarPieces();
  /** Resolves when the unpacking is over: at the archive's end, at damage, or at a refusal. */
  readonly #closed: Promise<void>;
  #head = Buffer.alloc(0);
  #use: ArchiveUse = emptyArchive;
  #problem: string | undefined;
  #unpacked = 0;
  /** A block of zeros was seen where a header would stand: the beginning of the end. */
  #ends = false;
  #endedAt: number | undefined;

  constructor(limits: ArchiveLimits) {
    this.#limits = limits;
    this.#gunzip = createGunzip({ chunkSize: 128 * KiB });
    this.#parser = new Parser({ strict: true, zstd: false, onReadEntry: (entry) => this.#read(entry) });
    // What the tar reader passes over would be missing from the source without a word.
    this.#parser.on("ignoredEntry", (entry: ReadEntry) => this.#admit({ ...archiveEntryOf(entry), type: "other" }));
    // A refusal may arrive between two writes; each is noted, and the first one counts.
    this.#parser.on("error", (error: ParserError) => this.#fail(parserWords(error, this.#use.entries)));
    this.#parser.on("nullBlock", () => {
      this.#ends = true;
    });
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
      this.#head = Buffer.concat([this.#head, chunk.subarray(0, 2 - this.#head.length)]);
      if (this.#head.length >= 2 && (this.#head[0] !== 0x1f || this.#head[1] !== 0x8b)) return this.#fail(NOT_GZIP);
    }
    const written = new Promise<void>((resolve) => this.#gunzip.write(chunk, () => resolve()));
    await Promise.race([written, this.#closed]);
  }

  /** Ends the walk; afterwards `problem` is final. */
  async end(): Promise<void> {
    if (this.#problem !== undefined) return;
    if (this.#head.length < 2) return this.#fail(this.#head.length === 0 ? "is empty" : NOT_GZIP);
    this.#gunzip.end();
    await this.#closed;
    if (this.#problem !== undefined) return;
    if (this.#endedAt === undefined) this.#parser.write(this.#pieces.rest());
    if (this.#ends && this.#use.entries === 0) return this.#fail("has no files in it");
    this.#parser.end();
    if (this.#problem === undefined && !this.#ends) this.#fail(TRUNCATED);
  }

  /** Frees what the unpacking takes; the walk is of no further use. */
  close(): void {
    this.#gunzip.destroy();
  }

  #fail(problem: string): void {
    this.#problem ??= problem;
    this.close();
  }

  #unpack(chunk: Buffer): void {
    if (this.#problem !== undefined) return;
    // The tar reader would unpack a second layer of gzip by itself, without any bound.
    if (this.#unpacked === 0 && chunk[0] === GZIP_MARK) return this.#fail(NOT_TAR);
    this.#unpacked += chunk.length;
    const { bytes, entries } = this.#use;
    if (this.#unpacked > bytes + OVERHEAD_BYTES + entries * ENTRY_OVERHEAD_BYTES)
      return this.#fail("unpacks to far more than its entries hold");
    if (this.#endedAt !== undefined && this.#unpacked > this.#endedAt + TRAILING_BYTES)
      return this.#fail("goes on after its end");
    if (this.#endedAt === undefined) this.#parser.write(this.#pieces.take(chunk));
  }

  #read(entry: ReadEntry): void {
    this.#ends = false;
    entry.resume();
    this.#admit(archiveEntryOf(entry));
  }

  #admit(entry: ArchiveEntry): void {
    if (this.#problem !== undefined) return;
    const verdict = admitEntry(this.#use, entry, this.#limits);
    if ("problem" in verdict) this.#fail(`is refused: ${verdict.problem}`);
    else this.#use = verdict.use;
  }
}

const gunzipWords = (error: NodeJS.ErrnoException): string =>
  error.code === "Z_BUF_ERROR" ? TRUNCATED : "is damaged: its gzip data does not add up";

/** What the tar reader reports: `CODE: what is wrong`, and the header where there is one. */
type ParserError = Error & { readonly header?: Header };

const parserWords = ({ message, header }: ParserError, entries: number): string => {
  if (message.includes("Truncated")) return TRUNCATED;
  const why = message.replace(/^TAR_\w+: /, "");
  if (header?.cksumValid === true)
    return `is refused: entry ${JSON.stringify((header.path ?? "").slice(0, 120))} is malformed (${why})`;
  return entries === 0 ? NOT_TAR : `is damaged after entry ${entries}`;
};
