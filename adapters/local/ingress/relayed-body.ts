/** A request's body as a stream that can be destroyed without closing the client's connection. */
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";

export class RelayedBody extends Readable {
  readonly #req: IncomingMessage;
  #begun = false;
  #onBegun: (() => void) | undefined;

  constructor(req: IncomingMessage) {
    super();
    this.#req = req;
    // Without a handler, an error before a reader handles it would crash the process.
    this.on("error", () => undefined);
    req.on("data", (chunk: Buffer) => {
      if (!this.destroyed && !this.push(chunk)) req.pause();
      this.#begin();
    });
    req.on("end", () => {
      if (!this.destroyed) this.push(null);
      this.#begin();
    });
    req.on("close", () => {
      if (!req.complete) this.destroy(new Error("the client closed the connection"));
    });
    req.on("error", (error) => this.destroy(error));
  }

  /** Calls the listener when the first bytes have arrived, or when the body ends without any. */
  whenBegun(listener: () => void): void {
    if (this.#begun) listener();
    else this.#onBegun = listener;
  }

  #begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#onBegun?.();
  }

  override _read(): void {
    this.#req.resume();
  }
}

/** False if the body has a transfer coding other than chunked, such as gzip, which the proxy cannot decode. */
export const hasKnownTransferCoding = (req: IncomingMessage): boolean => {
  const coding = req.headers["transfer-encoding"];
  return coding === undefined || coding.toLowerCase() === "chunked";
};

export const hasBody = (req: IncomingMessage): boolean =>
  req.headers["transfer-encoding"] !== undefined || (req.headers["content-length"] ?? "0") !== "0";
