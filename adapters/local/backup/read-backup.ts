/** Reads a backup as a stream. Rejects files that `BackupWriter` could not have written. */
import { createHash } from "node:crypto";
import {
  type BackupEnd,
  type BackupEntry,
  type BackupHead,
  BLOCK,
  DATA,
  decodeEntry,
  END,
  endSchema,
  extendedBytes,
  FORMAT,
  HEAD,
  headSchema,
  paddingOf,
} from "./format.ts";

/** Thrown if the bytes are not a usable backup. The message completes a sentence that starts with the file's name. */
export class BadBackup extends Error {}

/** Thrown if only a newer Portside can read the backup. */
export class NewerBackup extends BadBackup {}

export const FOREIGN = "was not written by 'portside backup'";
export const CUT_OFF = "is truncated";
export const DAMAGED = "is damaged";

const DOCUMENT_BYTES = 64 * 1024;

/** Reads a stream in pieces of requested sizes. */
class Bytes {
  readonly #stream: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);

  constructor(stream: AsyncIterable<Buffer>) {
    this.#stream = stream[Symbol.asyncIterator]();
  }

  /** Returns the next bytes, at most `max`; undefined at the end of the stream. */
  async some(max: number): Promise<Buffer | undefined> {
    while (this.#held.length === 0) {
      const { done, value } = await this.#stream.next();
      if (done === true) return undefined;
      this.#held = value;
    }
    const piece = this.#held.subarray(0, max);
    this.#held = this.#held.subarray(piece.length);
    return piece;
  }

  async *pieces(size: number): AsyncGenerator<Buffer> {
    for (let left = size; left > 0; ) {
      const piece = await this.some(left);
      if (piece === undefined) throw new BadBackup(CUT_OFF);
      left -= piece.length;
      yield piece;
    }
  }

  async take(size: number): Promise<Buffer> {
    const pieces = await Array.fromAsync(this.pieces(size));
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
  }
}

export interface BackupVisitor {
  begin(head: BackupHead): void;
  /** The visitor must read the whole content. The entry's path is relative to the data folder. */
  entry(entry: BackupEntry, content: AsyncIterable<Buffer>): Promise<void>;
}

const parse = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
};

const headOf = (bytes: Buffer): BackupHead => {
  const content = parse(bytes);
  const head = headSchema.safeParse(content);
  if (head.success) return head.data;
  const format = Number((content as { format?: unknown } | undefined)?.format);
  throw format > FORMAT
    ? new NewerBackup(`was created by a newer Portside (format ${format}; this version reads format ${FORMAT})`)
    : new BadBackup(FOREIGN);
};

class BackupReader {
  hasBegun = false;
  readonly #bytes: Bytes;
  readonly #hash = createHash("sha256");

  constructor(stream: AsyncIterable<Buffer>) {
    this.#bytes = new Bytes(stream);
  }

  async read(visitor: BackupVisitor): Promise<BackupEnd> {
    const first = await this.#header(FOREIGN);
    if (first.entry.path !== HEAD) throw new BadBackup(FOREIGN);
    this.#hash.update(first.bytes);
    const head = headOf(await this.#document(first.entry));
    this.hasBegun = true;
    visitor.begin(head);
    for (let entries = 0; ; entries++) {
      const { entry, bytes } = await this.#header(DAMAGED);
      if (entry.path === END) return await this.#end(entry, entries);
      this.#hash.update(bytes);
      if (!entry.path.startsWith(`${DATA}/`)) throw new BadBackup(DAMAGED);
      const content = this.#content(entry.size);
      await visitor.entry({ ...entry, path: entry.path.slice(DATA.length + 1) }, content);
      for await (const _rest of content) throw new Error("The content of an entry was not read.");
    }
  }

  async #header(problem: string): Promise<{ readonly entry: BackupEntry; readonly bytes: Buffer }> {
    const extended = await this.#bytes.take(BLOCK);
    const size = extendedBytes(extended);
    if (size === undefined) throw new BadBackup(problem);
    const rest = await this.#bytes.take(size + paddingOf(size) + BLOCK);
    const bytes = Buffer.concat([extended, rest]);
    const entry = decodeEntry(bytes);
    if (entry === undefined) throw new BadBackup(problem);
    return { entry, bytes };
  }

  async *#content(size: number): AsyncGenerator<Buffer> {
    for await (const piece of this.#bytes.pieces(size)) {
      this.#hash.update(piece);
      yield piece;
    }
    this.#hash.update(await this.#bytes.take(paddingOf(size)));
  }

  async #document({ size }: BackupEntry): Promise<Buffer> {
    if (size > DOCUMENT_BYTES) throw new BadBackup(DAMAGED);
    return Buffer.concat(await Array.fromAsync(this.#content(size)));
  }

  async #end(entry: BackupEntry, entries: number): Promise<BackupEnd> {
    const digest = this.#hash.copy().digest("hex");
    const end = endSchema.safeParse(parse(await this.#document(entry)));
    if (!end.success || end.data.sha256 !== digest || end.data.entries !== entries) throw new BadBackup(DAMAGED);
    const zeros = await this.#bytes.take(2 * BLOCK);
    if (zeros.some((byte) => byte !== 0) || (await this.#bytes.some(1)) !== undefined) throw new BadBackup(DAMAGED);
    return end.data;
  }
}

const CODES: Readonly<Record<string, string>> = { Z_BUF_ERROR: CUT_OFF, Z_DATA_ERROR: DAMAGED };

/** Rejects with `BadBackup` for an incomplete or invalid backup, possibly after the visitor received some entries. */
export const readBackup = async (stream: AsyncIterable<Buffer>, visitor: BackupVisitor): Promise<BackupEnd> => {
  const reader = new BackupReader(stream);
  try {
    return await reader.read(visitor);
  } catch (cause) {
    const problem = CODES[(cause as NodeJS.ErrnoException).code ?? ""];
    if (problem === undefined) throw cause;
    throw new BadBackup(reader.hasBegun || problem === CUT_OFF ? problem : FOREIGN, { cause });
  }
};
