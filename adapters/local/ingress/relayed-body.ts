/** A request's body as a stream that can be given up without closing the client's connection. */
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";

export class RelayedBody extends Readable {
  readonly #req: IncomingMessage;

  constructor(req: IncomingMessage) {
    super();
    this.#req = req;
    req.pause();
    req.on("data", (chunk: Buffer) => {
      if (!this.destroyed && !this.push(chunk)) req.pause();
    });
    req.on("end", () => {
      if (!this.destroyed) this.push(null);
    });
    req.on("close", () => {
      if (!req.complete) this.destroy(new Error("the client went away"));
    });
    req.on("error", (error) => this.destroy(error));
  }

  override _read(): void {
    this.#req.resume();
  }
}

export const hasBody = (req: IncomingMessage): boolean =>
  req.headers["transfer-encoding"] !== undefined || (req.headers["content-length"] ?? "0") !== "0";
