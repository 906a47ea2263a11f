/** Writes a download to standard output, which cannot be rewound. */
import { once } from "node:events";
import type { Writable } from "node:stream";
import { CommandError, type Io } from "../../terminal/io.ts";
import type { Sink } from "./download.ts";

export class StdoutSink implements Sink {
  at = 0;
  etag: string | undefined;
  readonly #io: Io;

  constructor(io: Io) {
    this.#io = io;
  }

  async begin(etag: string | undefined): Promise<void> {
    if (this.at > 0)
      throw new CommandError(
        "The download was interrupted and could not resume, because the object changed or has no ETag. The output is incomplete. Run the command again.",
      );
    this.etag = etag;
  }

  async write(bytes: Uint8Array): Promise<void> {
    // `Output` declares only text, but the underlying stream accepts bytes and reports backpressure.
    const stream = this.#io.stdout as unknown as Writable;
    if (stream.write(bytes) === false) await once(stream, "drain", { signal: this.#io.signal });
    this.at += bytes.length;
  }
}
