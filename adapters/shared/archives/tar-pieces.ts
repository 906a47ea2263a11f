/**
 * Cuts a tar stream into pieces between which no extended header is torn. The tar reader turns each piece of such a
 * header into text by itself: a character of several bytes that is torn is lost, and the path in it with it.
 */
import { Transform } from "node:stream";

const BLOCK = 512;
/** The types of headers that hold text: pax for one entry and for all, GNU's long names and links. */
const EXTENDED = ["x", "g", "L", "K"].map((letter) => letter.charCodeAt(0));
/** Longer ones than this many blocks hold more than paths and times, and may be torn. */
const BLOCKS = 16;
/** Whatever looks like headers without end is passed on at last. */
const HELD_BYTES = 256 * 1024;

/** Where the extended header that seems to begin at `at` ends; 0 where none does. Content may look like one, too. */
const endOfHeader = (bytes: Buffer, at: number): number => {
  if (!EXTENDED.includes(bytes[at + 156] ?? 0) || bytes.toString("latin1", at + 257, at + 262) !== "ustar") return 0;
  const size = Number.parseInt(bytes.toString("latin1", at + 124, at + 135), 8) || 0;
  return at + BLOCK + size;
};

/** The first block before `end` whose header goes on past it; `end` where there is none. */
const tornAt = (bytes: Buffer, end: number): number => {
  for (let at = Math.max(0, end - BLOCKS * BLOCK); at < end; at += BLOCK) if (endOfHeader(bytes, at) > end) return at;
  return end;
};

export class TarPieces {
  /** Begins at the border of a block. */
  #held: Buffer = Buffer.alloc(0);

  /** The bytes that can go on, now that these have come. */
  take(bytes: Buffer): Buffer {
    const all = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    let end = all.length - (all.length % BLOCK);
    for (let torn = tornAt(all, end); torn < end; torn = tornAt(all, end)) end = torn;
    if (all.length - end > HELD_BYTES) end = all.length - (all.length % BLOCK);
    this.#held = all.subarray(end);
    return all.subarray(0, end);
  }

  /** What is left when no more comes. */
  rest(): Buffer {
    const held = this.#held;
    this.#held = Buffer.alloc(0);
    return held;
  }
}

/** The same as a stream. */
export const tarPieces = (): Transform => {
  const pieces = new TarPieces();
  return new Transform({
    transform: (bytes: Buffer, _encoding, done) => done(null, pieces.take(bytes)),
    flush: (done) => done(null, pieces.rest()),
  });
};
