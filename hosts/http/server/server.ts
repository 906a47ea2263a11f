/** The server that `portside serve` runs: the plugin, plus one log line per request, 404s and a graceful shutdown. */
import { randomUUID } from "node:crypto";
import { maxHeaderSize } from "node:http";
import type { Socket } from "node:net";
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from "fastify";
import type { ControlPlane } from "../../../core/control-plane.ts";
import { rejectOtherMethods } from "../other-methods.ts";
import { type PortsideOptions, portside, principalOf, requestIdOf, servedCallOf } from "../plugin.ts";
import { hstsHeaders } from "./hsts.ts";
import { Listeners } from "./listeners.ts";

export interface ServerOptions {
  readonly controlPlane: ControlPlane;
  /** A pino logger, or any object with its methods. */
  readonly logger: FastifyBaseLogger;
  /** Called when a request ends, including requests to unknown paths. */
  readonly onServed?: PortsideOptions["onServed"];
  /** The same as in the plugin's options. */
  readonly console?: PortsideOptions["console"];
  readonly origins?: PortsideOptions["origins"];
  /**
   * Addresses and networks of proxies, in the form of Fastify's option of the same name. The server ignores the
   * X-Forwarded headers of all other clients.
   */
  readonly trustProxy?: readonly string[];
  /** If true for the connection of a response, the response asks its HTTP/1.1 client to close the connection. */
  readonly isDraining?: (connection: Socket) => boolean;
  /** The seconds for which browsers must use HTTPS for the host of an encrypted connection (HSTS). Defaults to 0. */
  readonly hstsSeconds?: number;
}

/** How often a stopping server closes idle connections. */
const CLOSE_IDLE_MS = 100;

const sendNotFound = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
  reply
    .header("x-request-id", requestIdOf(request))
    .code(404)
    .send({ detail: "No endpoint has this path. See /docs for the endpoints." });

/** Writes the response directly to the socket, because bytes that do not parse as HTTP create no request. */
const sendParseError = (error: NodeJS.ErrnoException, socket: Socket, hstsSeconds: number): void => {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const tooLong = error.code === "HPE_HEADER_OVERFLOW";
  const status = tooLong ? "431 Request Header Fields Too Large" : "400 Bad Request";
  const detail = tooLong
    ? `The headers are larger than ${maxHeaderSize} bytes. Send shorter headers.`
    : "The request is not valid HTTP.";
  const body = JSON.stringify({ detail });
  const hsts = Object.entries(hstsHeaders(socket, hstsSeconds)).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n` +
      `X-Request-Id: ${randomUUID()}\r\n${hsts.join("")}Connection: close\r\n\r\n${body}`,
  );
};

/** Responds with 503 to new requests while the server stops, and lets running requests finish. */
const stopGracefully = (app: FastifyInstance, listeners: Listeners, controlPlane: ControlPlane): void => {
  let stopping = false;
  app.addHook("onRequest", (request, reply, done) => {
    if (!stopping) return done();
    reply
      .code(503)
      .headers({ "x-request-id": requestIdOf(request), "retry-after": "5" })
      .send({ detail: "The server is stopping. Retry after 5 seconds." });
  });
  app.addHook("preClose", async () => {
    stopping = true;
    await controlPlane.close();
    // If a connection becomes idle during the shutdown, Node keeps it open until its keep-alive timeout.
    const closing = setInterval(() => listeners.closeIdle(), CLOSE_IDLE_MS);
    app.server.once("close", () => clearInterval(closing));
  });
};

const logReads: readonly (string | undefined)[] = ["/v1/deployment/logs", "/v1/logs/histogram", "/v1/logs/values"];

const isRead = ({ method, routeOptions }: FastifyRequest): boolean =>
  method === "GET" || logReads.includes(routeOptions.url);

/** Logs successful reads at debug level: clients and health checks poll, and would flood the log. */
const logRequest = (request: FastifyRequest, reply: FastifyReply): void => {
  const { method, url } = request;
  const fields = {
    requestId: requestIdOf(request),
    account: principalOf(request)?.account,
    method,
    path: url.split("?")[0],
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime),
  };
  if (reply.statusCode < 400 && isRead(request)) request.log.debug(fields, "request");
  else request.log.info(fields, "request");
};

/** Redirects `/`, which users open in a browser, and `/docs/`, which their bookmarks may contain. */
const redirectUsers = (app: FastifyInstance, { start }: { readonly start: string }, loaded: () => void): void => {
  app.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", requestIdOf(request));
    done();
  });
  for (const [url, target] of Object.entries({ "/": start, "/docs/": "/docs" })) {
    app.get(url, (_request, reply) => reply.redirect(target));
    rejectOtherMethods(app, url, ["GET"]);
  }
  loaded();
};

export const createServer = async ({
  controlPlane,
  logger,
  onServed,
  isDraining = () => false,
  console = true,
  origins = [],
  trustProxy = [],
  hstsSeconds = 0,
}: ServerOptions): Promise<FastifyInstance> => {
  const listeners = new Listeners();
  const app = Fastify({
    loggerInstance: logger,
    trustProxy: trustProxy.length > 0 && [...trustProxy],
    // Log calls pass the request's id, so requests do not need child loggers.
    childLoggerFactory: (parent) => parent,
    logController: new LogController({ disableRequestLogging: true }),
    forceCloseConnections: "idle",
    return503OnClosing: false,
    // The hooks that stop the server wait for deploys and connections, which may take longer than any fixed limit.
    pluginTimeout: 0,
    serverFactory: (handler) => listeners.create(handler),
    routerOptions: { ignoreTrailingSlash: false },
    // Fastify runs no hooks for a URL that it cannot parse.
    frameworkErrors: (_error, request, reply) =>
      void sendNotFound(request, reply.headers(hstsHeaders(request.raw.socket, hstsSeconds))),
    clientErrorHandler: (error, socket) => sendParseError(error, socket, hstsSeconds),
  });
  // Before the hook that refuses requests during a stop.
  app.addHook("onRequest", ({ raw }, reply, done) => {
    // HTTP/2 has no `Connection` header.
    if (isDraining(raw.socket) && raw.httpVersionMajor === 1) reply.raw.setHeader("connection", "close");
    reply.headers(hstsHeaders(raw.socket, hstsSeconds));
    done();
  });
  stopGracefully(app, listeners, controlPlane);
  app.addHook("onResponse", (request, reply, done) => {
    logRequest(request, reply);
    onServed?.(servedCallOf(request, reply));
    done();
  });
  app.setNotFoundHandler(sendNotFound);
  // biome-ignore lint/nursery/noMisusedPromises: a plugin may be asynchronous; the type has an overload for it
  await app.register(portside, { controlPlane, health: true, console, origins });
  await app.register(redirectUsers, { start: console ? "/console/" : "/docs" });
  return app;
};
