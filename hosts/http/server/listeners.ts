/**
 * Servers that accept HTTP/1.1 and cleartext HTTP/2 (h2c) on one port. The first bytes of a connection determine its
 * protocol. Cloud Run forwards requests larger than 32 MiB over HTTP/2 only:
 * https://docs.cloud.google.com/run/docs/configuring/http2
 */
import { createServer as createHttp1, type RequestListener, type Server } from "node:http";
import {
  createServer as createHttp2,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";
import type { Socket } from "node:net";

/** The first bytes of every HTTP/2 connection: https://www.rfc-editor.org/rfc/rfc9113#section-3.4 */
const PREFACE = "PRI * HTTP/2.0";
const HEADERS_MS = 60_000;
/** Longer than the idle timeout of most proxies (60 s): the server must not close a connection that a proxy reuses. */
const KEEP_ALIVE_MS = 72_000;
/** A proxy multiplexes many clients over one connection, and clients that follow a deploy hold streams for minutes. */
const STREAMS = 1000;
const SESSION_MB = 64;

type ConnectionHandler = (socket: Socket) => void;

/** Reads a connection's first bytes, puts them back, and calls the handler of its protocol. */
const detectProtocol = (socket: Socket, http1: ConnectionHandler, http2: ConnectionHandler): void => {
  let head = Buffer.alloc(0);
  const onTimeout = () => socket.destroy();
  const onError = () => socket.destroy();
  socket.setTimeout(HEADERS_MS, onTimeout);
  socket.on("error", onError);
  const onReadable = () => {
    const more = socket.read() as Buffer | null;
    if (more === null) return;
    head = Buffer.concat([head, more]);
    const text = head.toString("latin1", 0, PREFACE.length);
    const likeHttp2 = PREFACE.startsWith(text);
    // A lone "P" may be the start of a POST.
    if (likeHttp2 && text.length < PREFACE.length) return;
    socket.off("readable", onReadable);
    socket.setTimeout(0);
    socket.off("timeout", onTimeout);
    socket.off("error", onError);
    socket.unshift(head);
    (likeHttp2 ? http2 : http1)(socket);
  };
  socket.on("readable", onReadable);
};

export class Listeners {
  readonly #servers = new Set<Server>();
  /**
   * Connections without a request so far: browsers and connection pools open them in advance. Node counts them as busy
   * until the headers timeout: https://nodejs.org/api/http.html#servercloseidleconnections
   */
  readonly #unused = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();

  /** Returns a server that does not listen yet. Its type is that of an HTTP/1.1 server, which Fastify expects. */
  create(handler: RequestListener): Server {
    // No `requestTimeout`: it limits the whole body, and an upload may take longer than any fixed limit.
    const server = createHttp1(
      { headersTimeout: HEADERS_MS, keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 },
      handler,
    );
    const handleHttp2 = handler as unknown as (request: Http2ServerRequest, response: Http2ServerResponse) => void;
    const http2 = createHttp2(
      { settings: { maxConcurrentStreams: STREAMS }, maxSessionMemory: SESSION_MB },
      handleHttp2,
    );
    http2.on("checkContinue", (request, response) => {
      // Throws if the client has already reset the stream.
      if (!request.stream.closed) response.writeContinue();
      handleHttp2(request, response);
    });
    http2.on("session", (session) => {
      this.#sessions.add(session);
      session.once("close", () => this.#sessions.delete(session));
      session.setTimeout(KEEP_ALIVE_MS, () => session.close());
    });
    http2.on("sessionError", () => undefined);
    const [asHttp1] = server.listeners("connection") as ConnectionHandler[];
    server.removeAllListeners("connection");
    server.on("connection", (socket: Socket) => {
      this.#unused.add(socket);
      socket.once("close", () => this.#unused.delete(socket));
      detectProtocol(
        socket,
        (one) => asHttp1?.call(server, one),
        (one) => {
          this.#unused.delete(one);
          // Node's HTTP/1.1 server enables this, to respond after the client's FIN. An HTTP/2 session ends with the
          // FIN.
          one.allowHalfOpen = false;
          http2.emit("connection", one);
        },
      );
    });
    server.on("request", ({ socket }) => this.#unused.delete(socket));
    this.#servers.add(server);
    return server;
  }

  /** Closes idle connections. An HTTP/2 session accepts no new streams and closes after its last one. */
  closeIdle(): void {
    for (const server of this.#servers) server.closeIdleConnections();
    for (const socket of this.#unused) socket.destroy();
    for (const session of this.#sessions) session.close();
  }
}
