/**
 * Splits a byte stream into lines: invalid UTF-8 is replaced, a line over the limit is cut into several,
 * and the stream is held back while its reader is busy.
 */
import type { Readable } from "node:stream";

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

/** Calls `onLine` for each line of the stream; resolves at its end. */
export const readLines = async (
  stream: Readable,
  onLine: (line: string) => Promise<void> | undefined,
): Promise<void> => {
  let rest: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let from = 0;
      for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE, from)) {
        while (end - from > MAX_LINE_BYTES) {
          const cut = cutAt(rest, from + MAX_LINE_BYTES);
          await onLine(rest.toString("utf8", from, cut));
          from = cut;
        }
        const busy = onLine(lineOf(rest.subarray(from, end)));
        if (busy !== undefined) await busy;
        from = end + 1;
      }
      rest = rest.subarray(from);
      while (rest.length > MAX_LINE_BYTES) {
        const cut = cutAt(rest, MAX_LINE_BYTES);
        await onLine(rest.toString("utf8", 0, cut));
        rest = rest.subarray(cut);
      }
    }
  } catch {
    // The pipe broke with its process; what was read is what there is.
  }
  if (rest.length > 0) await onLine(lineOf(rest));
};
