/**
 * Cuts a byte stream into blocks of whole lines, and blocks into lines. Replaces invalid UTF-8, cuts a line that
 * exceeds the limit into pieces, and applies backpressure while `onLines` is busy.
 */
import type { Readable } from "node:stream";
import { paceOutput } from "./pace-output.ts";

const MAX_LINE_BYTES = 256 * 1024;
const NEWLINE = 10;
const LINE_BREAK = Buffer.from("\n");

/** Returns the last position up to `limit` that does not split a UTF-8 sequence. */
const cutAt = (bytes: Buffer, limit: number): number => {
  let at = limit;
  while (at > limit - 4 && ((bytes[at] as number) & 0xc0) === 0x80) at--;
  return at;
};

/** Returns the number of bytes before an incomplete UTF-8 sequence at the end. */
const wholeBytes = (bytes: Buffer): number => {
  let at = bytes.length - 1;
  while (at > bytes.length - 4 && at > 0 && ((bytes[at] as number) & 0xc0) === 0x80) at--;
  const first = bytes[at] as number;
  const width = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  return at + width > bytes.length ? at : bytes.length;
};

const withoutReturn = (line: string): string => (line.endsWith("\r") ? line.slice(0, -1) : line);

/** Splits one line that may exceed the limit. */
const piecesOf = (line: Buffer): string[] => {
  const pieces: string[] = [];
  let at = 0;
  while (line.length - at > MAX_LINE_BYTES) {
    const cut = cutAt(line, at + MAX_LINE_BYTES);
    pieces.push(line.toString("utf8", at, cut));
    at = cut;
  }
  pieces.push(line.toString("utf8", at));
  return pieces;
};

/**
 * Returns the lines of a block, without their line breaks. A block without a line break at its end is a piece of an
 * overlong line.
 */
export const linesIn = (block: Buffer): string[] => {
  const isEnded = block.at(-1) === NEWLINE;
  if (!isEnded) return piecesOf(block);
  if (block.length <= MAX_LINE_BYTES)
    return block
      .toString("utf8", 0, block.length - 1)
      .split("\n")
      .map(withoutReturn);
  const lines: string[] = [];
  for (let from = 0; from < block.length; ) {
    const end = block.indexOf(NEWLINE, from);
    const pieces = piecesOf(block.subarray(from, end));
    lines.push(...pieces.slice(0, -1), withoutReturn(pieces.at(-1) as string));
    from = end + 1;
  }
  return lines;
};

/** Returns the last lines of a block, at most `count`. */
export const lastLinesIn = (block: Buffer, count: number): string[] => {
  let from = block.length - 1;
  for (let left = count; left > 0 && from >= 0; left--) from = from === 0 ? -1 : block.lastIndexOf(NEWLINE, from - 1);
  return linesIn(block.subarray(from + 1)).slice(-count);
};

/** After this time without output, an unfinished line is delivered. It may be a prompt or a progress indicator. */
const SILENCE_MS = 1000;

type OnLines = (lines: Buffer) => Promise<void> | undefined;

export class LineSplitter {
  readonly #onLines: OnLines;
  #rest: Buffer = Buffer.alloc(0);
  /** True if the silence timeout has delivered the beginning of the current line. */
  #begun = false;
  #silence: NodeJS.Timeout | undefined;
  #busy: Promise<void> | undefined;

  constructor(onLines: OnLines) {
    this.#onLines = onLines;
  }

  async take(chunk: Buffer): Promise<void> {
    this.#stopWaiting();
    if (this.#busy !== undefined) await this.#busy;
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const end = this.#rest.lastIndexOf(NEWLINE) + 1;
    const lines = this.#rest.subarray(0, end);
    this.#rest = this.#rest.subarray(end);
    const busy = this.#deliver(lines);
    if (busy !== undefined) await busy;
    await this.#cut();
    if (this.#rest.length > 0) this.#waitForEnd();
  }

  async end(): Promise<void> {
    this.#stopWaiting();
    if (this.#busy !== undefined) await this.#busy;
    if (this.#rest.length > 0) await this.#deliver(Buffer.concat([this.#rest, LINE_BREAK]));
  }

  #waitForEnd(): void {
    const silence = setTimeout(() => {
      // If the event loop was blocked, chunks may be pending although the timer has expired. Take them first.
      setImmediate(() => {
        if (this.#silence === silence) this.#show();
      });
    }, SILENCE_MS);
    this.#silence = silence;
  }

  #stopWaiting(): void {
    clearTimeout(this.#silence);
    this.#silence = undefined;
  }

  /** Delivers all pieces of an overlong unfinished line except the last. */
  async #cut(): Promise<void> {
    while (this.#rest.length > MAX_LINE_BYTES) {
      const cut = cutAt(this.#rest, MAX_LINE_BYTES);
      const piece = this.#rest.subarray(0, cut);
      this.#rest = this.#rest.subarray(cut);
      await this.#onLines(piece);
    }
  }

  /** Delivers whole lines. If the silence timeout has delivered the whole first line, skips its line break. */
  #deliver(lines: Buffer): Promise<void> | undefined {
    if (lines.length === 0) return undefined;
    const skipped = this.#begun ? lines.indexOf(NEWLINE) + 1 : 0;
    this.#begun = false;
    const isEmpty = skipped === 1 || (skipped === 2 && lines.toString("latin1", 0, 1) === "\r");
    const left = isEmpty ? lines.subarray(skipped) : lines;
    return left.length === 0 ? undefined : this.#onLines(left);
  }

  #show(): void {
    this.#silence = undefined;
    const whole = wholeBytes(this.#rest);
    if (whole === 0) return;
    this.#busy = this.#onLines(Buffer.concat([this.#rest.subarray(0, whole), LINE_BREAK]));
    this.#rest = this.#rest.subarray(whole);
    this.#begun = true;
  }
}

/**
 * Calls `onLines` for each block of lines, and for an unfinished line after `SILENCE_MS`. Resolves at the end of the
 * stream.
 */
export const readLines = async (stream: Readable, onLines: OnLines): Promise<void> => {
  const lines = new LineSplitter(onLines);
  try {
    for await (const chunk of paceOutput(stream)) await lines.take(chunk);
  } catch {
    // The pipe broke because its process ended. The output read so far is valid.
  }
  await lines.end();
};
