/**
 * Splits a byte stream into lines. Replaces invalid UTF-8, cuts a line that exceeds the limit into pieces, and applies
 * backpressure while `onLine` is busy.
 */
import type { Readable } from "node:stream";
import { paceOutput } from "./pace-output.ts";

const MAX_LINE_BYTES = 256 * 1024;
const NEWLINE = 10;

/** Decodes a line, or the last piece of a line that was cut. */
const lineOf = (bytes: Buffer): string => {
  const line = bytes.toString("utf8");
  return line.endsWith("\r") ? line.slice(0, -1) : line;
};

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

/** After this time without output, an unfinished line is delivered. It may be a prompt or a progress indicator. */
const SILENCE_MS = 1000;

type OnLine = (line: string) => Promise<void> | undefined;

export class LineSplitter {
  readonly #onLine: OnLine;
  #rest: Buffer = Buffer.alloc(0);
  /** True if the silence timeout has delivered the beginning of the current line. */
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
      if (end - from > MAX_LINE_BYTES) from = await this.#cut(from, end);
      // Awaiting every line would be slow.
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
      // Perhaps the writer was not silent and the event loop was blocked, so take pending chunks first.
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

  /** Delivers all pieces of an overlong line except the last. Returns the position of the last piece. */
  async #cut(from: number, end: number): Promise<number> {
    let at = from;
    while (end - at > MAX_LINE_BYTES) {
      const cut = cutAt(this.#rest, at + MAX_LINE_BYTES);
      await this.#onLine(this.#rest.toString("utf8", at, cut));
      at = cut;
    }
    return at;
  }

  /** Delivers the end of a line. Skips an empty end if the silence timeout has delivered the beginning. */
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

/** Calls `onLine` for each line, and for an unfinished line after `SILENCE_MS`. Resolves at the end of the stream. */
export const readLines = async (stream: Readable, onLine: OnLine): Promise<void> => {
  const lines = new LineSplitter(onLine);
  try {
    for await (const chunk of paceOutput(stream)) await lines.take(chunk);
  } catch {
    // The pipe broke because its process ended. The output read so far is valid.
  }
  await lines.end();
};
