/**
 * Splits a byte stream into lines: invalid UTF-8 is replaced, a line over the limit is cut into several,
 * and the stream is held back while its reader is busy.
 */
import type { Readable } from "node:stream";
import { paced } from "./paced.ts";

const MAX_LINE_BYTES = 256 * 1024;
const NEWLINE = 10;

/** A line, or the last piece of one that was cut. */
const lineOf = (bytes: Buffer): string => {
  const line = bytes.toString("utf8");
  return line.endsWith("\r") ? line.slice(0, -1) : line;
};

/** Where to cut at or before `limit` without splitting a UTF-8 sequence. */
const cutAt = (bytes: Buffer, limit: number): number => {
  let at = limit;
  while (at > limit - 4 && ((bytes[at] as number) & 0xc0) === 0x80) at--;
  return at;
};

/** How many of the bytes are whole characters. */
const wholeBytes = (bytes: Buffer): number => {
  let at = bytes.length - 1;
  while (at > bytes.length - 4 && at > 0 && ((bytes[at] as number) & 0xc0) === 0x80) at--;
  const first = bytes[at] as number;
  const width = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  return at + width > bytes.length ? at : bytes.length;
};

/** After so long without a byte, what stands there without a newline is shown: a prompt, or how far something is. */
const SILENCE_MS = 1000;

type OnLine = (line: string) => Promise<void> | undefined;

export class LineSplitter {
  readonly #onLine: OnLine;
  #rest: Buffer = Buffer.alloc(0);
  /** The beginning of this line has been handed on, for nothing followed it in time. */
  #begun = false;
  #silence: NodeJS.Timeout | undefined;
  #busy: Promise<void> | undefined;

  constructor(onLine: OnLine) {
    this.#onLine = onLine;
  }

  async take(chunk: Buffer): Promise<void> {
    this.#stopWaiting();
    if (this.#busy !== undefined) await this.#busy;
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let from = 0;
    for (let end = this.#rest.indexOf(NEWLINE); end >= 0; end = this.#rest.indexOf(NEWLINE, from)) {
      // Not awaited for each line: they are many.
      if (end - from > MAX_LINE_BYTES) from = await this.#cut(from, end);
      const busy = this.#end(lineOf(this.#rest.subarray(from, end)));
      if (busy !== undefined) await busy;
      from = end + 1;
    }
    this.#rest = this.#rest.subarray(await this.#cut(from, this.#rest.length));
    if (this.#rest.length > 0) this.#waitForEnd();
  }

  async end(): Promise<void> {
    this.#stopWaiting();
    if (this.#busy !== undefined) await this.#busy;
    if (this.#rest.length > 0) await this.#end(lineOf(this.#rest));
  }

  #waitForEnd(): void {
    const silence = setTimeout(() => {
      // The loop may have been held up, not the writer: what has come meanwhile is taken first.
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

  /** Hands on what is too long for one line; the rest of it begins at the result. */
  async #cut(from: number, end: number): Promise<number> {
    let at = from;
    while (end - at > MAX_LINE_BYTES) {
      const cut = cutAt(this.#rest, at + MAX_LINE_BYTES);
      await this.#onLine(this.#rest.toString("utf8", at, cut));
      at = cut;
    }
    return at;
  }

  /** Of a line whose beginning was handed on, an empty end is none. */
  #end(line: string): Promise<void> | undefined {
    const empty = this.#begun && line === "";
    this.#begun = false;
    return empty ? undefined : this.#onLine(line);
  }

  #show(): void {
    this.#silence = undefined;
    const whole = wholeBytes(this.#rest);
    if (whole === 0) return;
    this.#busy = this.#onLine(lineOf(this.#rest.subarray(0, whole)));
    this.#rest = this.#rest.subarray(whole);
    this.#begun = true;
  }
}

/**
 * Calls `onLine` for each line of the stream, and for the beginning of one whose end does not come; resolves at the
 * stream's end.
 */
export const readLines = async (stream: Readable, onLine: OnLine): Promise<void> => {
  const lines = new LineSplitter(onLine);
  try {
    for await (const chunk of paced(stream)) await lines.take(chunk);
  } catch {
    // The pipe broke with its process; what was read is what there is.
  }
  await lines.end();
};
