/** Archives that no ordinary packer writes: unusual headers, false sizes, bombs. */
import { constants, crc32, deflateRawSync, gzipSync } from "node:zlib";
import { type Entry, tarOf } from "./archives.ts";

const BLOCK = 512;
const MiB = 1024 * 1024;

/** The end of an archive: two blocks of zeros. */
export const END = Buffer.alloc(2 * BLOCK);

/** Entries without the end of the archive. */
export const blocksOf = (...entries: readonly Entry[]): Buffer => tarOf(entries).subarray(0, -END.length);

/** Changes a header and corrects its checksum. */
export const patched = (blocks: Buffer, change: (header: Buffer) => void): Buffer => {
  const made = Buffer.from(blocks);
  const header = made.subarray(0, BLOCK);
  change(header);
  header.fill(" ", 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return made;
};

/** An entry of the type that tar writes as this letter. It has no content, whatever size it claims. */
export const entryOfType = (letter: string, entry: Entry): Buffer =>
  patched(blocksOf(entry), (header) => header.write(letter, 156));

const paxRecord = (key: string, value: string): string => {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + 1;
  while (length !== rest + String(length).length) length = rest + String(length).length;
  return `${length} ${key}=${value}\n`;
};

/** A pax header for the next entry (`x`), or for all that follow (`g`). */
export const paxHeader = (records: Readonly<Record<string, string>>, letter: "x" | "g" = "x"): Buffer => {
  const content = Object.entries(records)
    .map(([key, value]) => paxRecord(key, value))
    .join("");
  return entryOfType(letter, { path: "PaxHeader", content });
};

/** GNU tar's extension for a path of over 100 bytes. */
export const gnuLongName = (path: string): Buffer => entryOfType("L", { path: "././@LongLink", content: `${path}\0` });

/** Sizes of 8 GiB and more, which do not fit into eleven octal digits. */
export const hugeHeader = (path: string, size: bigint): Buffer =>
  patched(blocksOf({ path }), (header) => {
    header.writeUInt32BE(0x80000000, 124);
    header.writeBigUInt64BE(size, 128);
  });

const GZIP_HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);

const deflatedPiece = (bytes: Uint8Array): Buffer =>
  deflateRawSync(bytes, { level: 9, finishFlush: constants.Z_FULL_FLUSH });

/**
 * One gzip member with `start`, then `mebibytes` of zeros, then `end`. It repeats a block of 16 MiB that is compressed
 * once, so gigabytes are fast to create. Its checksum is correct only without zeros.
 */
export const gzipWithZeros = (start: Uint8Array, mebibytes: number, end: Uint8Array = new Uint8Array()): Buffer => {
  const zeros = deflatedPiece(Buffer.alloc(16 * MiB));
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc32(Buffer.concat([start, end])), 0);
  trailer.writeUInt32LE(start.length + end.length, 4);
  const pieces = Array.from({ length: Math.ceil(mebibytes / 16) }, () => zeros);
  return Buffer.concat([GZIP_HEAD, deflatedPiece(start), ...pieces, deflateRawSync(end), trailer]);
};

const TEN_GB = 10_000;
const good = blocksOf({ path: "index.js", content: "run()" });
const claimed = (path: string, mebibytes: number): Buffer => blocksOf({ path, claimedSize: mebibytes * MiB });

const headersWithoutEnd = (letter: "x" | "g"): Buffer => {
  const header = deflatedPiece(
    Buffer.concat(Array.from({ length: 4096 }, () => paxHeader({ comment: "x".repeat(400) }, letter))),
  );
  return Buffer.concat([GZIP_HEAD, deflatedPiece(good), ...Array.from({ length: 2048 }, () => header)]);
};

/** Ten gigabytes compressed to about ten megabytes, in every known way. */
export const bombs: Readonly<Record<string, () => Buffer>> = {
  "an entry that claims 10 GB": () => gzipWithZeros(Buffer.concat([good, hugeHeader("big", 10_000_000_000n)]), TEN_GB),
  "a pax header that claims 10 GB": () =>
    gzipWithZeros(Buffer.concat([good, paxHeader({ size: "10000000000" }), claimed("big", 0)]), TEN_GB),
  "a pax header for all entries that claims 10 GB": () =>
    gzipWithZeros(Buffer.concat([good, paxHeader({ size: "10000000000" }, "g"), claimed("big", 0)]), TEN_GB),
  "a pax header of 8 GB": () =>
    gzipWithZeros(Buffer.concat([good, entryOfType("x", { path: "x", claimedSize: 8_000 * MiB })]), TEN_GB),
  "a long name of 8 GB": () =>
    gzipWithZeros(Buffer.concat([good, entryOfType("L", { path: "x", claimedSize: 8_000 * MiB })]), TEN_GB),
  "zeros after the end of the archive": () => gzipWithZeros(Buffer.concat([good, END]), TEN_GB),
  "gzip members after the end of the archive": () => {
    const member = gzipSync(Buffer.alloc(16 * MiB));
    return Buffer.concat([gzipSync(Buffer.concat([good, END])), ...Array.from({ length: 640 }, () => member)]);
  },
  "entries that are each allowed": () => {
    const entry = (n: number) => [deflatedPiece(claimed(`big-${n}`, 512)), ...Array(32).fill(deflatedPiece(zeros))];
    const zeros = Buffer.alloc(16 * MiB);
    return Buffer.concat([GZIP_HEAD, deflatedPiece(good), ...Array.from({ length: 20 }, (_, n) => entry(n)).flat()]);
  },
  "an entry with a different size in each header": () => {
    const lies = [paxHeader({ size: "0" }, "g"), paxHeader({ size: "10000000000" })];
    return gzipWithZeros(Buffer.concat([good, ...lies, claimed("big", 0)]), TEN_GB);
  },
  "a gzip within the gzip": () => gzipSync(gzipWithZeros(Buffer.concat([good, END]), TEN_GB)),
  "headers without end": () => headersWithoutEnd("x"),
  "endless headers for all entries": () => headersWithoutEnd("g"),
};
