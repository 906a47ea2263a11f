/**
 * Parses a container's log stream. Each frame has the number of the output stream, a length, and a message that starts
 * with the container engine's timestamp:
 * https://docs.docker.com/reference/api/engine/version/v1.41/#tag/Container/operation/ContainerAttach
 */
import { type Instant, parseInstant } from "../../../core/domain/wire/instant.ts";
import type { OutputStream } from "../sandbox/runner.ts";

export interface Frame {
  readonly stream: OutputStream;
  /** The time at which the container engine received the output; undefined if the message has no valid timestamp. */
  readonly at: Instant | undefined;
  /** A line with its line feed, or a part of a line that exceeds the container engine's limit of 16 KiB. */
  readonly bytes: Buffer;
}

const HEADER = 8;
const STDERR = 2;
const SPACE = 0x20;
/** The maximum length of a timestamp in bytes. A message without a space in this range has no timestamp. */
const TIME = 40;

const frameOf = (kind: number | undefined, message: Buffer): Frame => {
  const space = message.subarray(0, TIME).indexOf(SPACE);
  return {
    stream: kind === STDERR ? "stderr" : "stdout",
    at: space < 0 ? undefined : parseInstant(message.toString("latin1", 0, space)),
    bytes: message.subarray(space + 1),
  };
};

/** Splits the bytes of a log into frames. A frame may span chunks. */
export async function* framesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Frame> {
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    let at = 0;
    while (held.length - at >= HEADER) {
      const end = at + HEADER + held.readUInt32BE(at + 4);
      if (held.length < end) break;
      yield frameOf(held[at], held.subarray(at + HEADER, end));
      at = end;
    }
    held = held.subarray(at);
  }
}
