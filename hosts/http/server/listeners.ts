/**
 * Ports that take HTTP/1.1 and cleartext HTTP/2 (h2c) alike: the first bytes of a connection tell them apart. Cloud Run
 * passes requests of over 32 MiB on by HTTP/2 alone: https://docs.cloud.google.com/run/docs/configuring/http2
 */
import { createServer as createHttp1, type RequestListener, type Server } from "node:http";
import {
  createServer as createHttp2,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";
import type { Socket } from "node:net";

/** With what an HTTP/2 client begins: https://www.rfc-editor.org/rfc/rfc9113#section-3.4 */
const PREFACE = "PRI * HTTP/2.0";
const HEADERS_MS = 60_000;
/** Longer than proxies keep theirs, most of which give up an idle connection after a minute. */
const KEEP_ALIVE_MS = 72_000;
/** One connection of a proxy carries the requests of many clients, and a follower of a deploy holds its own for long. */
const STREAMS = 1000;
const SESSION_MB = 64;

type Pass = (socket: Socket) => void;

/** Waits for a connection's first bytes, and passes it to whoever speaks its language. */
const peek = (socket: Socket, http1: Pass, http2: Pass): void => {
  let head = Buffer.alloc(0);
  const silent = () => socket.destroy();
  const failed = () => socket.destroy();
  socket.setTimeout(HEADERS_MS, silent);
  socket.on("error", failed);
  const onReadable = () => {
    const more = socket.read() as Buffer | null;
    if (more === null) return;
    head = Buffer.concat([head, more]);
    const text = head.toString("latin1", 0, PREFACE.length);
    const likeHttp2 = PREFACE.startsWith(text);
    // A lone "P" may yet become a POST.
    if (likeHttp2 && text.length < PREFACE.length) return;
    socket.off("readable", onReadable);
    socket.setTimeout(0);
    socket.off("timeout", silent);
    socket.off("error", failed);
    socket.unshift(head);
    (likeHttp2 ? http2 : http1)(socket);
  };
  socket.on("readable", onReadable);
};

export class Listeners {
  readonly #servers = new Set<Server>();
  /**
   * Connections on which nothing was asked yet, which browsers and pools open ahead. Node counts them as busy until their
   * first headers are overdue: https://nodejs.org/api/http.html#servercloseidleconnections
   */
  readonly #unused = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();

  /** A server that is yet to listen; to whoever uses it, one of HTTP/1.1. */
  create(handler: RequestListener): Server {
    // Answers to clients that are still sending a body must not wait for the body.
    const server = createHttp1(
      { headersTimeout: HEADERS_MS, keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 },
      handler,
    );
    const http2 = createHttp2(
      { settings: { maxConcurrentStreams: STREAMS }, maxSessionMemory: SESSION_MB },
      handler as unknown as (request: Http2ServerRequest, response: Http2ServerResponse) => void,
    );
    http2.on("session", (session) => {
      this.#sessions.add(session);
      session.once("close", () => this.#sessions.delete(session));
      session.setTimeout(KEEP_ALIVE_MS, () => session.close());
    });
    http2.on("sessionError", () => undefined);
    const [asHttp1] = server.listeners("connection") as Pass[];
    server.removeAllListeners("connection");
    server.on("connection", (socket: Socket) => {
      this.#unused.add(socket);
      socket.once("close", () => this.#unused.delete(socket));
      peek(
        socket,
        (one) => asHttp1?.call(server, one),
        (one) => {
          this.#unused.delete(one);
          // A server of HTTP/1.1 goes on answering a client that has ended its side; one of HTTP/2 lets go of it.
          one.allowHalfOpen = false;
          http2.emit("connection", one);
        },
      );
    });
    server.on("request", ({ socket }) => this.#unused.delete(socket));
    this.#servers.add(server);
    return server;
  }

  /** Closes what is idle; connections of HTTP/2 take nothing new, and end with what they carry. */
  closeIdle(): void {
    for (const server of this.#servers) server.closeIdleConnections();
    for (const socket of this.#unused) socket.destroy();
    for (const session of this.#sessions) session.close();
  }
}
