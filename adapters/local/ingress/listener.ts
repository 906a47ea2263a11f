/**
 * Serves HTTP/1.1 and HTTP/2 on one port. The first bytes of a connection select the protocol. On a TLS port, ALPN
 * selects it during the handshake.
 */
import {
  createServer as createHttp1,
  type Server as Http1Server,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import {
  constants,
  createServer as createHttp2,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { createServer, type Server, type Socket } from "node:net";
import { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { adoptServer, listenAt, listenOnLoopbacks } from "../../shared/runtime/loopback.ts";
import { TlsAcceptor, type TlsAcceptorDeps } from "../tls/tls-acceptor.ts";
import { endGracefully } from "./graceful-goaway.ts";

export interface Handlers {
  request(req: IncomingMessage, res: ServerResponse): void;
  /** Whether to send `100 Continue` immediately. If not, `request` sends it or rejects the request. */
  mayContinue(req: IncomingMessage): boolean;
  /** Whether an upgrade request goes to `upgrade` instead of `request`. */
  mayUpgrade(req: IncomingMessage): boolean;
  upgrade(req: IncomingMessage, socket: Socket, head: Buffer): void;
  /** @param connection the client's connection; Node does not expose the TLS socket of an HTTP/2 stream */
  stream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, connection: Socket): void;
  /** Takes over a connection after its TLS handshake. If it returns false, the port serves the connection itself. */
  take?(socket: TLSSocket): boolean;
}

/**
 * Destroys the stream when the client resets it with `NO_ERROR`, a code that Node's client sends. Node destroys a stream
 * only after other codes. Otherwise, an unread stream would stay open, and a truncated request would look complete.
 */
const destroyOnReset = (stream: ServerHttp2Stream): void => {
  stream.once("aborted", () => {
    if (stream.rstCode === constants.NGHTTP2_NO_ERROR) stream.destroy();
  });
};

const PREFACE = "PRI * HTTP/2.0";
const HEADERS_MS = 60_000;
const KEEP_ALIVE_MS = 75_000;
const FIRST_BYTES_MS = 60_000;

/** A connection that uses HTTP/2. */
interface Http2Connection {
  readonly socket: Socket;
  /** The number of open streams. */
  streams: number;
  /** The stream to which the session writes: the socket, or a wrapper of a TLS socket. */
  readonly transport: Duplex;
}

type Serve = (socket: Socket) => void;

/** Passes a new connection to the server for its protocol. */
const peek = (socket: Socket, http1: Serve, http2: Serve): void => {
  socket.setTimeout(FIRST_BYTES_MS, () => socket.destroy());
  socket.on("error", () => socket.destroy());
  let head: Buffer | undefined;
  const onReadable = () => {
    const more = socket.read() as Buffer | null;
    if (more === null) return;
    head = head === undefined ? more : Buffer.concat([head, more]);
    const text = head.toString("latin1", 0, PREFACE.length);
    const likeHttp2 = PREFACE.startsWith(text);
    // A lone "P" may still become a POST.
    if (likeHttp2 && text.length < PREFACE.length) return;
    socket.off("readable", onReadable);
    socket.setTimeout(0);
    socket.removeAllListeners("timeout");
    socket.unshift(head);
    (likeHttp2 ? http2 : http1)(socket);
  };
  socket.on("readable", onReadable);
};

export interface OpenOptions {
  /** Whether to fail if the port is unavailable. */
  readonly strict?: boolean;
  /** Terminates TLS; undefined for a port without TLS. */
  readonly tls?: TlsAcceptorDeps | undefined;
  /** How long a connection may be idle after a request; 75 seconds by default. */
  readonly keepAliveMs?: number;
}

/** The connections to one port. */
export class Listener {
  /** Terminates TLS; undefined for a port without TLS. */
  readonly tls: TlsAcceptor | undefined;
  #port: number;
  readonly #servers: Server[] = [];
  readonly #http1: Http1Server;
  readonly #http2: Http2Server;
  readonly #handlers: Handlers;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Map<ServerHttp2Session, Http2Connection>();
  /** The connection whose session the HTTP/2 server is creating. */
  #connecting: Http2Connection | undefined;
  /** For each connection, the latest response that carries `Connection: close` because of the drain. */
  readonly #last = new WeakMap<Socket, ServerResponse>();
  #draining = false;

  /**
   * @param port the port of the servers that `adopt` will receive
   * @param tls terminates TLS; undefined for a port without TLS
   */
  constructor(handlers: Handlers, port = 0, tls?: TlsAcceptorDeps, keepAliveMs = KEEP_ALIVE_MS) {
    this.#port = port;
    this.#handlers = handlers;
    this.tls = tls === undefined ? undefined : new TlsAcceptor(tls, (socket) => this.#acceptSecure(socket));
    const http1 = createHttp1({
      maxHeaderSize: 64 * 1024,
      keepAliveTimeout: keepAliveMs,
      headersTimeout: HEADERS_MS,
      requestTimeout: 0,
      shouldUpgradeCallback: (req) => handlers.mayUpgrade(req),
    });
    const onRequest = (req: IncomingMessage, res: ServerResponse) => {
      if (this.#draining) this.#announceClose(req, res);
      handlers.request(req, res);
    };
    http1.on("request", onRequest);
    http1.on("checkContinue", (req, res) => {
      if (handlers.mayContinue(req)) res.writeContinue();
      onRequest(req, res);
    });
    http1.on("upgrade", (req, socket, head) => handlers.upgrade(req, socket as Socket, head));
    // The server receives its connections from `peek` and never listens. This event starts its timers for slow and idle
    // connections.
    http1.emit("listening");
    const http2 = createHttp2({ settings: { enableConnectProtocol: false }, maxSessionMemory: 64 });
    http2.on("session", (session) => this.#onSession(session, keepAliveMs));
    http2.on("stream", (stream, headers) => {
      // The `close` event that follows ends the request. A protocol error in the same packet has already destroyed the
      // session.
      stream.on("error", () => undefined);
      const connection = this.#sessions.get(stream.session as ServerHttp2Session);
      if (connection === undefined) return;
      // Node emits this event after it has read all received frames, so the client may have reset the stream already.
      if (stream.closed) return void stream.destroy();
      destroyOnReset(stream);
      connection.streams++;
      stream.once("close", () => connection.streams--);
      handlers.stream(stream, headers, connection.socket);
    });
    http2.on("sessionError", () => undefined);
    this.#http1 = http1;
    this.#http2 = http2;
  }

  get port(): number {
    return this.#port;
  }

  /** The listening servers, one for each address. */
  get servers(): readonly Server[] {
    return this.#servers;
  }

  /**
   * Listens on `host`, and on the second loopback address that `listenOnLoopbacks` adds. Uses any free port if
   * `preferredPort` is 0, or if it is unavailable and `strict` is false.
   */
  static async open(
    host: string,
    preferredPort: number,
    handlers: Handlers,
    { strict = false, tls, keepAliveMs }: OpenOptions = {},
  ): Promise<Listener> {
    const listener = new Listener(handlers, 0, tls, keepAliveMs);
    const accept = listener.#accept;
    const server = createServer(accept);
    const tryListen = (port: number) =>
      listenOnLoopbacks(host, port, (address, free) => listenAt(server, address, free), accept);
    const { port, second } = await tryListen(preferredPort).catch((error: NodeJS.ErrnoException) => {
      const { code } = error;
      if (strict || preferredPort === 0 || (code !== "EADDRINUSE" && code !== "EACCES")) throw error;
      return tryListen(0);
    });
    listener.#port = port;
    listener.#servers.push(server, ...(second === undefined ? [] : [second]));
    return listener;
  }

  /** Accepts the connections to a server of another process. See `adoptServer`. */
  adopt(received: Server): void {
    this.#servers.push(adoptServer(received, this.#accept));
  }

  /**
   * Stops accepting connections and closes idle HTTP/1.1 connections. The others stay open until
   * `close`, until the client closes them, or until their keep-alive timeout.
   */
  stop(): void {
    this.#stopAccepting();
    this.#http1.closeIdleConnections();
  }

  /**
   * Closes idle HTTP/1.1 connections and keeps listening. Returns a function that closes the other connections that
   * were open at the time of this call.
   */
  release(): () => void {
    this.#http1.closeIdleConnections();
    const present = [...this.#sockets];
    return () => {
      for (const socket of present) socket.destroy();
    };
  }

  /**
   * Stops accepting connections and ends the open ones: with `Connection: close` in the next response, or with GOAWAY.
   * Does not close idle HTTP/1.1 connections. Resolves when no connection is left.
   */
  async drain(): Promise<void> {
    this.#draining = true;
    this.#stopAccepting();
    for (const [session, { transport }] of this.#sessions) endGracefully(session, transport);
    await Promise.all([...this.#sockets].map((socket) => new Promise((closed) => socket.once("close", closed))));
  }

  /** Closes all connections. */
  close(): void {
    this.#stopAccepting();
    this.#http1.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #stopAccepting(): void {
    for (const server of this.#servers) server.close();
    this.tls?.close();
  }

  readonly #accept = (socket: Socket): void => {
    this.#track(socket);
    socket.setNoDelay(true);
    if (this.tls === undefined) peek(socket, this.#serveHttp1, this.#serveHttp2);
    else this.tls.accept(socket);
  };

  #acceptSecure(socket: TLSSocket): void {
    this.#track(socket);
    socket.on("error", () => socket.destroy());
    if (this.#handlers.take?.(socket) === true) return;
    if (socket.alpnProtocol !== "h2") return this.#serveHttp1(socket);
    // `endGracefully` writes to the transport. If a session uses a TLS socket directly, that write ends the process
    // with a failed assertion in Node, because the session writes natively at the same time.
    this.#connectHttp2({ socket, streams: 0, transport: Duplex.from({ readable: socket, writable: socket }) });
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }

  readonly #serveHttp1: Serve = (socket) => void this.#http1.emit("connection", socket);

  readonly #serveHttp2: Serve = (socket) => this.#connectHttp2({ socket, streams: 0, transport: socket });

  #connectHttp2(connection: Http2Connection): void {
    this.#connecting = connection;
    this.#http2.emit("connection", connection.transport);
  }

  /** Node creates the session of a connection synchronously. */
  #onSession(session: ServerHttp2Session, keepAliveMs: number): void {
    const connection = this.#connecting as Http2Connection;
    this.#sessions.set(session, connection);
    session.once("close", () => this.#sessions.delete(session));
    // A client that vanished closes nothing, and Node closes no idle sessions.
    session.setTimeout(keepAliveMs);
    session.on("timeout", () => {
      if (connection.streams === 0) session.destroy();
      else session.setTimeout(keepAliveMs);
    });
    if (this.#draining) endGracefully(session, connection.transport);
  }

  /**
   * Adds `Connection: close` to the response. If the client pipelines requests, removes it from the earlier response.
   */
  #announceClose({ socket }: IncomingMessage, res: ServerResponse): void {
    const earlier = this.#last.get(socket);
    if (earlier !== undefined) earlier.shouldKeepAlive = true;
    if (!res.shouldKeepAlive) return;
    res.shouldKeepAlive = false;
    this.#last.set(socket, res);
  }
}
