/** Standard output as the place where an object's bytes go: what is written there cannot be taken back. */
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
      throw new CommandError("The connection broke, and the object has changed since; what was written is not whole.");
    this.etag = etag;
  }

  async write(bytes: Uint8Array): Promise<void> {
    // The terminal as commands know it takes text; the stream behind it takes bytes, and says when it has too many.
    const stream = this.#io.stdout as unknown as Writable;
    if (stream.write(bytes) === false) await once(stream, "drain", { signal: this.#io.signal });
    this.at += bytes.length;
  }
}
