/** One HTTP/1.1 request to one instance and its answer back, streamed both ways. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { Pool as Connections, type Dispatcher } from "undici";
import { type Forwarded, flushHead, requestHeaders, responseHeaders } from "./headers.ts";
import { type Member, neverMade } from "./member.ts";
import type { RelayedBody } from "./relayed-body.ts";

/**
 * Kept connections are closed before any common server closes them (gunicorn: 2 s), because a request that is
 * sent into a closing connection is lost, and not every request may be sent twice.
 */
const KEEP_ALIVE_MS = 1000;

const connectionsOf = (member: Member): Dispatcher =>
  member.resource("http1", () => {
    const pool = new Connections(member.origin, {
      connections: null,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: 256 * 1024,
    });
    return { pool, close: () => void pool.destroy() };
  }).pool;

/** An answer up to this size is put behind its head and sent with it. */
const ONE_WRITE_BYTES = 16 * 1024;

export type ExchangeEnd =
  | { readonly kind: "done" }
  /** The answer broke off after its head was out. */
  | { readonly kind: "cut" }
  /** The request's head is none that may be passed on. */
  | { readonly kind: "refused" }
  /** The instance gave no answer. `unsent`: it saw nothing of the request, so another may be asked. */
  | { readonly kind: "broken"; readonly unsent: boolean };

/** The words after the status, unless they hold what cannot be written again. */
const plainReason = (reason: string | undefined): string =>
  reason !== undefined && /^[\t\x20-\x7e]*$/.test(reason) ? reason : "";

/** How an exchange ended for which no answer began. */
const endBefore = (code: string | undefined): ExchangeEnd =>
  // A head that Node's parser lets pass and undici does not, such as two Host headers.
  code === "UND_ERR_INVALID_ARG" ? { kind: "refused" } : { kind: "broken", unsent: neverMade(code) };

export interface ExchangeOptions extends Forwarded {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** The request's body; another exchange may take it where this one ends `unsent`. */
  readonly body: RelayedBody | null;
  readonly member: Member;
  /** Set for the client with the answer. */
  readonly cookie: string | undefined;
}

export class Exchange implements Dispatcher.DispatchHandler {
  /** The bytes of the answer's body. */
  responseBytes = 0;
  readonly #options: ExchangeOptions;
  readonly #onEnd: (end: ExchangeEnd) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #abortedFor: Error | undefined;
  #dispatched = false;
  #started = false;
  /** The first piece of the answer's body, until it is clear whether it is the last as well. */
  #first: Buffer | undefined;
  #wrote = false;
  #held = false;
  #ended = false;

  /** @param onEnd called once, when the exchange is over */
  constructor(options: ExchangeOptions, onEnd: (end: ExchangeEnd) => void) {
    this.#options = options;
    this.#onEnd = onEnd;
  }

  begin(): void {
    const { body } = this.#options;
    // The head is sent with the first bytes of the body. While it waits for them, a kept connection could be closed.
    if (body === null) this.#dispatch();
    else body.whenBegun(() => this.#dispatch());
  }

  #dispatch(): void {
    if (this.#ended) return;
    this.#dispatched = true;
    const { req, body, member } = this.#options;
    const path = req.url as string;
    const method = req.method as Dispatcher.HttpMethod;
    const headers = requestHeaders(req, this.#options);
    connectionsOf(member).dispatch({ path, method, headers, body }, this);
  }

  /** Breaks off towards the instance; the client is the caller's to answer. */
  abort(reason: Error): void {
    this.#abortedFor = reason;
    if (!this.#dispatched) return this.#end({ kind: "broken", unsent: false });
    this.#controller?.abort(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#abortedFor !== undefined) controller.abort(this.#abortedFor);
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    message?: string,
  ): void {
    // Early hints and the like are the connection's own business.
    if (status < 200) return;
    const { res, requestId, cookie } = this.#options;
    this.#started = true;
    res.writeHead(status, plainReason(message), responseHeaders(headers, requestId, cookie));
    res.on("drain", () => {
      this.#held = false;
      controller.resume();
    });
    // What does not come with the head is not waited for: an event stream may be silent for long.
    setImmediate(() => {
      if (this.#wrote || this.#ended || res.destroyed) return;
      if (this.#first === undefined) flushHead(res);
      else this.#write(controller, this.#takeFirst(this.#first));
      this.#wrote = true;
    });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.responseBytes += chunk.length;
    if (!this.#wrote && this.#first === undefined) {
      this.#first = chunk;
      return;
    }
    if (this.#first !== undefined) this.#write(controller, this.#takeFirst(this.#first));
    this.#write(controller, chunk);
  }

  #takeFirst(first: Buffer): Buffer {
    this.#first = undefined;
    this.#wrote = true;
    return first;
  }

  #write(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#options.res.write(chunk) || this.#held) return;
    this.#held = true;
    controller.pause();
  }

  onResponseEnd(_controller: Dispatcher.DispatchController, trailers: IncomingHttpHeaders): void {
    const { res } = this.#options;
    if (res.chunkedEncoding && trailers !== undefined && Object.keys(trailers).length > 0)
      res.addTrailers(trailers as Record<string, string>);
    // Text goes out together with the head, in one write; Latin-1 has a letter for every byte.
    if (this.#first === undefined) res.end();
    else if (this.#first.length <= ONE_WRITE_BYTES) res.end(this.#first.toString("latin1"), "latin1");
    else res.end(this.#first);
    this.#end({ kind: "done" });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error & { code?: string }): void {
    this.#end(this.#started ? { kind: "cut" } : endBefore(error.code));
  }

  #end(end: ExchangeEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    if (end.kind !== "broken" || !end.unsent) this.#options.body?.destroy();
    this.#onEnd(end);
  }
}
