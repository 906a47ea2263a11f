/** Forwards one HTTP/1.1 request to one instance and streams the response back. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { Pool as Connections, type Dispatcher } from "undici";
import { type ForwardedRequest, flushHead, requestHeaders, responseHeaders } from "./headers.ts";
import { isUnreachable, type PooledInstance } from "./pooled-instance.ts";
import type { RelayedBody } from "./relayed-body.ts";

/**
 * Shorter than the idle timeouts of common servers (gunicorn: 2 s). A request on a connection that the server is
 * closing is lost, and not every request may be retried.
 */
const KEEP_ALIVE_MS = 1000;

const connectTo = ({ origin }: PooledInstance): Dispatcher =>
  new Connections(origin, {
    connections: null,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: 256 * 1024,
  });

/** A body up to this size that arrives in one chunk is sent in one write with its head. */
const ONE_WRITE_BYTES = 16 * 1024;

export type ExchangeEnd =
  | { readonly kind: "done" }
  /** The response ended early, after its head had been sent. */
  | { readonly kind: "cut" }
  /** The request's head is invalid, so nothing was forwarded. */
  | { readonly kind: "refused" }
  /** The instance did not respond. If `unsent`, it received nothing, and the caller may try another instance. */
  | { readonly kind: "broken"; readonly unsent: boolean };

/** Returns the reason phrase, or an empty string if it contains characters that Node.js cannot write. */
const plainReason = (reason: string | undefined): string =>
  reason !== undefined && /^[\t\x20-\x7e]*$/.test(reason) ? reason : "";

/** Returns the end of an exchange that failed before any response. */
const endBefore = (code: string | undefined): ExchangeEnd =>
  // Node.js accepts some heads that undici rejects, such as those with two Host headers.
  code === "UND_ERR_INVALID_ARG" ? { kind: "refused" } : { kind: "broken", unsent: isUnreachable(code) };

export interface Http1ExchangeOptions extends ForwardedRequest {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  /** The request's body. If this exchange ends `unsent`, another exchange may use the body. */
  readonly body: RelayedBody | null;
  readonly pooled: PooledInstance;
  /** Affinity cookie to set in the response. */
  readonly cookie: string | undefined;
}

export class Http1Exchange implements Dispatcher.DispatchHandler {
  /** Size of the response body in bytes. */
  responseBytes = 0;
  readonly #options: Http1ExchangeOptions;
  readonly #onEnd: (end: ExchangeEnd) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #abortedFor: Error | undefined;
  #dispatched = false;
  #started = false;
  /** The body's first chunk, held back until it is clear whether it is also the last. */
  #first: Buffer | undefined;
  #wrote = false;
  #held = false;
  #ended = false;

  /** @param onEnd called once, when the exchange has ended */
  constructor(options: Http1ExchangeOptions, onEnd: (end: ExchangeEnd) => void) {
    this.#options = options;
    this.#onEnd = onEnd;
  }

  begin(): void {
    const { body } = this.#options;
    // undici selects a connection immediately, but sends the head only with the first bytes of the body. The connection
    // could become idle and close in between.
    if (body === null) this.#dispatch();
    else body.whenBegun(() => this.#dispatch());
  }

  #dispatch(): void {
    if (this.#ended) return;
    this.#dispatched = true;
    const { req, body, pooled } = this.#options;
    const path = req.url as string;
    const method = req.method as Dispatcher.HttpMethod;
    const headers = requestHeaders(req, this.#options);
    pooled.http1 ??= connectTo(pooled);
    pooled.http1.dispatch({ path, method, headers, body }, this);
  }

  /** Aborts the request to the instance; the caller must respond to the client. */
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
    // Informational responses, such as early hints, are not forwarded.
    if (status < 200) return;
    const { res, requestId, cookie } = this.#options;
    this.#started = true;
    res.writeHead(status, plainReason(message), responseHeaders(headers, requestId, cookie));
    res.on("drain", () => {
      this.#held = false;
      controller.resume();
    });
    // If no body arrives with the head, send the head now: an event stream may be silent for a long time.
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
    // Node.js combines head and body in one write only if the body is a string. Latin-1 preserves every byte.
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
