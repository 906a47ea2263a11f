/** Serves HTTP/1.1 and cleartext HTTP/2 on one port. The first bytes of a connection select the protocol. */
import { createServer as createHttp1, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttp2, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { createServer, type Server, type Socket } from "node:net";
import { listenAt, listenOnLoopbacks } from "../../shared/runtime/loopback.ts";

export interface Handlers {
  request(req: IncomingMessage, res: ServerResponse): void;
  /** Whether to send `100 Continue` immediately. If not, `request` sends it or rejects the request. */
  mayContinue(req: IncomingMessage): boolean;
  /** Whether an upgrade request goes to `upgrade` instead of `request`. */
  mayUpgrade(req: IncomingMessage): boolean;
  upgrade(req: IncomingMessage, socket: Socket, head: Buffer): void;
  stream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void;
}

const PREFACE = "PRI * HTTP/2.0";
const HEADERS_MS = 60_000;
const KEEP_ALIVE_MS = 75_000;
const FIRST_BYTES_MS = 60_000;

export interface Listener {
  readonly port: number;
  /** Stops accepting connections and closes idle ones; busy ones close after their requests. */
  stop(): void;
  /**
   * Closes idle connections and keeps listening. Returns a function that closes the connections that were busy at the
   * time of this call.
   */
  release(): () => void;
  /** Closes all connections. */
  close(): void;
}

/** Passes a new connection to the server for its protocol. */
const peek = (socket: Socket, http1: Server, http2: Server): void => {
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
    (likeHttp2 ? http2 : http1).emit("connection", socket);
  };
  socket.on("readable", onReadable);
};

/**
 * Listens on `host`, or on both 127.0.0.1 and ::1 if `host` is a loopback address. Uses any free port if
 * `preferredPort` is 0 or unavailable.
 * @param strict whether to fail if the port is unavailable
 */
export const listen = async (
  host: string,
  preferredPort: number,
  handlers: Handlers,
  strict = false,
): Promise<Listener> => {
  const http1 = createHttp1({
    maxHeaderSize: 64 * 1024,
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: HEADERS_MS,
    requestTimeout: 0,
    shouldUpgradeCallback: (req) => handlers.mayUpgrade(req),
  });
  http1.on("request", (req, res) => handlers.request(req, res));
  http1.on("checkContinue", (req, res) => {
    if (handlers.mayContinue(req)) res.writeContinue();
    handlers.request(req, res);
  });
  http1.on("upgrade", (req, socket, head) => handlers.upgrade(req, socket as Socket, head));
  // The server receives its connections from `peek` and never listens. This event starts its timers for slow and idle
  // connections.
  http1.emit("listening");
  const http2 = createHttp2({ settings: { enableConnectProtocol: false }, maxSessionMemory: 64 });
  http2.on("stream", (stream, headers) => handlers.stream(stream, headers));
  http2.on("sessionError", () => undefined);
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.setNoDelay(true);
    peek(socket, http1, http2 as unknown as Server);
  });
  const tryListen = (port: number) =>
    listenOnLoopbacks(
      host,
      port,
      (address, free) => listenAt(server, address, free),
      (socket) => server.emit("connection", socket),
    );
  const listening = await tryListen(preferredPort).catch((error: NodeJS.ErrnoException) => {
    const { code } = error;
    if (strict || preferredPort === 0 || (code !== "EADDRINUSE" && code !== "EACCES")) throw error;
    return tryListen(0);
  });
  return {
    port: listening.port,
    stop: () => {
      server.close();
      void listening.close();
      http1.closeIdleConnections();
    },
    release: () => {
      http1.closeIdleConnections();
      const present = [...sockets];
      return () => {
        for (const socket of present) socket.destroy();
      };
    },
    close: () => {
      server.close();
      void listening.close();
      http1.close();
      for (const socket of sockets) socket.destroy();
    },
  };
};
