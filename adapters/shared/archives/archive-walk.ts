/**
 * Checks a tar.gz while it streams in. The core's rule checks each entry before its content is read. Memory use is
 * bounded, regardless of the sizes that the archive declares.
 */
import { createGunzip, type Gunzip } from "node:zlib";
import { type ArchiveLimits, KiB, MiB } from "../../../core/domain/accounts/limits.ts";
import { ArchiveContents } from "../../../core/domain/deploy/archive.ts";
import { TarDamage, type TarEntry, TarReader, type TarVisitor } from "./tar/reader.ts";

/**
 * Maximum unpacked bytes of headers and padding: a base, and an amount for each entry. An archive with more is a
 * decompression bomb.
 */
const OVERHEAD_BYTES = 32 * MiB;
const ENTRY_OVERHEAD_BYTES = 8 * KiB;
/** Maximum bytes after the end marker. Common tools pad an archive to a multiple of 10 KiB. */
const TRAILING_BYTES = 1 * MiB;

const NOT_GZIP = "is not a gzip file; pack it with 'tar -czf'";
const NOT_TAR = "is gzip, but not a tar archive; pack it with 'tar -czf'";
const TRUNCATED = "is cut off; send the complete file";

/** The first byte of gzip data. No permitted path begins with it. */
const GZIP_MARK = 0x1f;

export class ArchiveWalk {
  readonly #contents: ArchiveContents;
  readonly #admitted: TarVisitor | undefined;
  readonly #gunzip: Gunzip;
  readonly #tar: TarReader;
  /** Resolves when unpacking ends: at the end of the archive, or earlier if it is damaged or an entry is rejected. */
  readonly #closed: Promise<void>;
  #head = Buffer.alloc(0);
  #problem: string | undefined;
  #unpacked = 0;
  #endedAt: number | undefined;

  /** @param admitted receives each accepted entry and its content. The walk does not catch its exceptions. */
  constructor(limits: ArchiveLimits, admitted?: TarVisitor) {
    this.#contents = new ArchiveContents(limits);
    this.#admitted = admitted;
    this.#gunzip = createGunzip({ chunkSize: 128 * KiB });
    this.#tar = new TarReader({ entry: (entry) => this.#admit(entry), content: (bytes) => this.#pass(bytes) });
    this.#closed = new Promise((resolve) => this.#gunzip.once("close", resolve));
    this.#gunzip.on("data", (chunk: Buffer) => this.#unpack(chunk));
    this.#gunzip.on("error", (error: NodeJS.ErrnoException) => this.#fail(formatGunzipError(error)));
  }

  /** Returns the problem found so far, as a clause that follows "the archive". */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Reads the next bytes of the archive. Resolves when they are checked. */
  async write(chunk: Uint8Array): Promise<void> {
    if (this.#problem !== undefined) return;
    if (this.#head.length < 2) {
      this.#head = Buffer.concat([this.#head, chunk.subarray(0, 2 - this.#head.length)]);
      if (this.#head.length >= 2 && (this.#head[0] !== 0x1f || this.#head[1] !== 0x8b)) return this.#fail(NOT_GZIP);
    }
    const written = new Promise<void>((resolve) => this.#gunzip.write(chunk, () => resolve()));
    await Promise.race([written, this.#closed]);
  }

  /** Ends the archive. Afterwards `problem` is final. */
  async end(): Promise<void> {
    if (this.#problem !== undefined) return;
    if (this.#head.length < 2) return this.#fail(this.#head.length === 0 ? "is empty" : NOT_GZIP);
    this.#gunzip.end();
    await this.#closed;
    if (this.#problem !== undefined) return;
    this.#read(() => this.#tar.end());
    if (this.#problem === undefined && this.#contents.entries === 0) this.#fail("contains no files");
  }

  /** Releases the decompressor. The walk must not be used afterwards. */
  close(): void {
    this.#gunzip.destroy();
  }

  #fail(problem: string): void {
    this.#problem ??= problem;
    this.close();
  }

  #unpack(chunk: Buffer): void {
    if (this.#problem !== undefined) return;
    // Rejects a second layer of gzip, whose unpacked size would not be bounded.
    if (this.#unpacked === 0 && chunk[0] === GZIP_MARK) return this.#fail(NOT_TAR);
    this.#unpacked += chunk.length;
    const { bytes, entries } = this.#contents;
    if (this.#unpacked > bytes + OVERHEAD_BYTES + entries * ENTRY_OVERHEAD_BYTES)
      return this.#fail("unpacks to far more data than its entries contain");
    if (this.#endedAt !== undefined && this.#unpacked > this.#endedAt + TRAILING_BYTES)
      return this.#fail("has data after its end");
    this.#read(() => this.#tar.write(chunk));
    if (this.#tar.ended) this.#endedAt ??= this.#unpacked;
  }

  #read(read: () => void): void {
    try {
      read();
    } catch (error) {
      if (!(error instanceof TarDamage)) throw error;
      const { entries } = this.#contents;
      this.#fail(error.isCutOff ? TRUNCATED : entries === 0 ? NOT_TAR : `is damaged after entry ${entries}`);
    }
  }

  #admit(entry: TarEntry): void {
    if (this.#problem !== undefined) return;
    const problem = this.#contents.admit(entry);
    if (problem !== undefined) this.#fail(`is rejected: ${problem}`);
    else this.#admitted?.entry(entry);
  }

  #pass(bytes: Buffer): void {
    if (this.#problem === undefined) this.#admitted?.content(bytes);
  }
}

const formatGunzipError = (error: NodeJS.ErrnoException): string =>
  error.code === "Z_BUF_ERROR" ? TRUNCATED : "is damaged: its gzip data is corrupt";
