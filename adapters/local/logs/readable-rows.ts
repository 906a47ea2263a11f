/**
 * Reads a damaged log file's rows page by page, without SQLite, which fails at the first bad page.
 * The format: https://www.sqlite.org/fileformat2.html
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

type Value = null | bigint | number | string | Uint8Array;

const DEFAULT_PAGE = 4096;
/** The two page types of a table without row ids; both contain rows. */
const INTERIOR = 0x02;
const LEAF = 0x0a;
/** The platform never writes larger rows, so a larger size indicates damage. */
const MAX_PAYLOAD = 64 * 1024 * 1024;

class Pages implements Disposable {
  readonly #file: number;
  readonly #wal: number | undefined;
  readonly size: number;
  readonly count: number;
  /** Offset of each page's newest version in the write-ahead log. */
  readonly #newer = new Map<number, number>();

  constructor(path: string) {
    this.#file = openSync(path, "r");
    this.#wal = openOrNot(`${path}-wal`);
    const header = readAt(this.#file, 0, 100);
    const size = header.length < 18 ? 0 : header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
    this.size = size >= 512 && (size & (size - 1)) === 0 ? size : DEFAULT_PAGE;
    this.#readWal();
    const inFile = Math.ceil(fstatSync(this.#file).size / this.size);
    this.count = Math.max(inFile, ...this.#newer.keys());
  }

  get(number: number): Buffer {
    const at = this.#newer.get(number);
    return at === undefined || this.#wal === undefined
      ? readAt(this.#file, (number - 1) * this.size, this.size)
      : readAt(this.#wal, at, this.size);
  }

  /** Returns the numbers of the free pages, which contain only deleted rows. */
  free(): ReadonlySet<number> {
    const free = new Set<number>();
    const header = this.get(1);
    let trunk = header.length < 36 ? 0 : header.readUInt32BE(32);
    while (trunk > 0 && trunk <= this.count && !free.has(trunk)) {
      free.add(trunk);
      const page = this.get(trunk);
      if (page.length < this.size) break;
      const leaves = Math.min(page.readUInt32BE(4), (this.size - 8) / 4);
      for (let n = 0; n < leaves; n++) free.add(page.readUInt32BE(8 + 4 * n));
      trunk = page.readUInt32BE(0);
    }
    return free;
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
    if (this.#wal !== undefined) closeSync(this.#wal);
  }

  /**
   * Reads the write-ahead log's valid frames, which have the salt of the log's header. Ignores frames after the last
   * commit.
   */
  #readWal(): void {
    if (this.#wal === undefined) return;
    const header = readAt(this.#wal, 0, 32);
    if (header.length < 32) return;
    const pending = new Map<number, number>();
    for (let at = 32; ; at += 24 + this.size) {
      const frame = readAt(this.#wal, at, 24);
      if (frame.length < 24 || frame.compare(header, 16, 24, 8, 16) !== 0) return;
      pending.set(frame.readUInt32BE(0), at + 24);
      if (frame.readUInt32BE(4) === 0) continue;
      for (const [page, where] of pending) this.#newer.set(page, where);
      pending.clear();
    }
  }
}

const openOrNot = (path: string): number | undefined => {
  try {
    return openSync(path, "r");
  } catch {
    return undefined;
  }
};

const readAt = (file: number, position: number, length: number): Buffer => {
  const buffer = Buffer.alloc(length);
  return buffer.subarray(0, readSync(file, buffer, 0, length, position));
};

/** Reads a buffer. Throws a RangeError for a read beyond the end, which indicates damage. */
class Cursor {
  readonly #bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at = 0) {
    this.#bytes = bytes;
    this.at = at;
  }

  varint(): number {
    let value = 0n;
    for (let n = 0; n < 9; n++) {
      const byte = this.#bytes.readUInt8(this.at++);
      if (n === 8) {
        value = (value << 8n) | BigInt(byte);
        break;
      }
      value = (value << 7n) | BigInt(byte & 0x7f);
      if (byte < 0x80) break;
    }
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new RangeError("the number is damaged");
    return Number(value);
  }

  take(length: number): Buffer {
    if (this.at + length > this.#bytes.length) throw new RangeError("the row is truncated");
    this.at += length;
    return this.#bytes.subarray(this.at - length, this.at);
  }
}

/** Sizes of integers in bytes, by serial type. */
const INTEGERS = [0, 1, 2, 3, 4, 6, 8];

const readValue = (type: number, body: Cursor): Value => {
  if (type === 0) return null;
  if (type <= 6) return BigInt.asIntN(8 * (INTEGERS[type] as number), bigOf(body.take(INTEGERS[type] as number)));
  if (type === 7) return body.take(8).readDoubleBE();
  if (type <= 9) return BigInt(type - 8);
  if (type < 12) throw new RangeError("the type is damaged");
  const bytes = body.take(Math.floor((type - 12) / 2));
  return type % 2 === 0 ? bytes : bytes.toString("utf8");
};

const bigOf = (bytes: Buffer): bigint => bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);

const recordOf = (payload: Buffer): Value[] => {
  const header = new Cursor(payload);
  const end = header.varint();
  const body = new Cursor(payload, end);
  const values: Value[] = [];
  while (header.at < end) values.push(readValue(header.varint(), body));
  return values;
};

/** Returns the payload of a cell, including its overflow pages. */
const payloadAt = (pages: Pages, page: Buffer, at: number, reserved: number): Buffer => {
  const cell = new Cursor(page, at);
  const length = cell.varint();
  if (length > MAX_PAYLOAD) throw new RangeError("the size is damaged");
  const usable = pages.size - reserved;
  const max = Math.floor(((usable - 12) * 64) / 255) - 23;
  if (length <= max) return cell.take(length);
  const min = Math.floor(((usable - 12) * 32) / 255) - 23;
  const local = min + ((length - min) % (usable - 4));
  const parts = [cell.take(local <= max ? local : min)];
  let left = length - (parts[0] as Buffer).length;
  for (let next = cell.take(4).readUInt32BE(); left > 0; ) {
    if (next < 1 || next > pages.count) throw new RangeError("the chain of pages is damaged");
    const overflow = new Cursor(pages.get(next));
    next = overflow.take(4).readUInt32BE();
    const part = overflow.take(Math.min(left, usable - 4));
    parts.push(part);
    left -= part.length;
  }
  return Buffer.concat(parts);
};

function* rowsOfPage(pages: Pages, number: number, reserved: number): Generator<Value[]> {
  const page = pages.get(number);
  const kind = page[0];
  if (page.length < pages.size || (kind !== LEAF && kind !== INTERIOR)) return;
  const cells = Math.min(page.readUInt16BE(3), pages.size / 2);
  const pointers = kind === LEAF ? 8 : 12;
  for (let n = 0; n < cells; n++)
    try {
      const at = page.readUInt16BE(pointers + 2 * n) + (kind === LEAF ? 0 : 4);
      yield recordOf(payloadAt(pages, page, at, reserved));
    } catch (error) {
      // A cell that points outside its page is damaged; the page's other rows may be intact.
      if (!(error instanceof RangeError)) throw error;
    }
}

/** Yields every readable row, page by page, in no particular order. */
export function* readableRows(path: string): Generator<readonly Value[][]> {
  using pages = new Pages(path);
  const header = pages.get(1);
  const reserved = header.length > 20 && (header[20] as number) < 64 ? (header[20] as number) : 0;
  const free = pages.free();
  for (let number = 1; number <= pages.count; number++)
    if (!free.has(number)) yield [...rowsOfPage(pages, number, reserved)];
}
