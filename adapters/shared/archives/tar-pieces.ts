/**
 * Cuts a tar stream into pieces that do not split an extended header. The library `tar` decodes each piece of an
 * extended header separately, so a split multi-byte character would corrupt the path.
 */
import { Transform } from "node:stream";

const BLOCK = 512;
/** Header types that contain text: pax for one entry and for all, GNU's long names and links. */
const EXTENDED = ["x", "g", "L", "K"].map((letter) => letter.charCodeAt(0));
/** Maximum blocks of a header to keep together. Longer headers contain more than paths and times, and may be split. */
const BLOCKS = 16;
/** Maximum bytes to hold back, because file content may look like an endless series of headers. */
const HELD_BYTES = 256 * 1024;

/**
 * Returns the end of the extended header at `at`, or 0 if the bytes do not look like one. File content may also look
 * like a header.
 */
const endOfHeader = (bytes: Buffer, at: number): number => {
  if (!EXTENDED.includes(bytes[at + 156] ?? 0) || bytes.toString("latin1", at + 257, at + 262) !== "ustar") return 0;
  const size = Number.parseInt(bytes.toString("latin1", at + 124, at + 135), 8) || 0;
  return at + BLOCK + size;
};

/** Returns the start of the first extended header that extends past `end`, or `end` if no header does. */
const tornAt = (bytes: Buffer, end: number): number => {
  for (let at = Math.max(0, end - BLOCKS * BLOCK); at < end; at += BLOCK) if (endOfHeader(bytes, at) > end) return at;
  return end;
};

export class TarPieces {
  /** The bytes that are held back. They begin at a block boundary. */
  #held: Buffer = Buffer.alloc(0);

  /** Adds bytes and returns those that can be passed on. */
  take(bytes: Buffer): Buffer {
    const all = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    let end = all.length - (all.length % BLOCK);
    for (let torn = tornAt(all, end); torn < end; torn = tornAt(all, end)) end = torn;
    if (all.length - end > HELD_BYTES) end = all.length - (all.length % BLOCK);
    this.#held = all.subarray(end);
    return all.subarray(0, end);
  }

  /** Returns the remaining bytes at the end of the stream. */
  rest(): Buffer {
    const held = this.#held;
    this.#held = Buffer.alloc(0);
    return held;
  }
}

/** Returns a transform stream that cuts its input with `TarPieces`. */
export const tarPieces = (): Transform => {
  const pieces = new TarPieces();
  return new Transform({
    transform: (bytes: Buffer, _encoding, done) => done(null, pieces.take(bytes)),
    flush: (done) => done(null, pieces.rest()),
  });
};
