/** Portside's own server around the plugin: one log line a request, answers where the plugin has none, a graceful end. */
import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from "fastify";
import type { ControlPlane } from "../../../core/control-plane.ts";
import { refuseOtherMethods } from "../other-methods.ts";
import { type PortsideOptions, portside, principalOf, requestIdOf, servedCallOf } from "../plugin.ts";
import { Listeners } from "./listeners.ts";

export interface ServerOptions {
  readonly controlPlane: ControlPlane;
  /** pino, or anything with its methods. */
  readonly logger: FastifyBaseLogger;
  /** Told of each request when it is over, also of those to paths that are no endpoint. */
  readonly onServed?: PortsideOptions["onServed"];
}

/** How often a server that stops looks for connections that have become idle. */
const IDLE_MS = 100;

const nothingHere = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
  reply.header("x-request-id", requestIdOf(request)).code(404).send({ detail: "There is nothing here." });

/** What cannot be read as HTTP has no request yet, so the answer is written as it stands. */
const refuseBytes = (error: NodeJS.ErrnoException, socket: Socket): void => {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const tooLong = error.code === "HPE_HEADER_OVERFLOW";
  const status = tooLong ? "431 Request Header Fields Too Large" : "400 Bad Request";
  const body = JSON.stringify({ detail: tooLong ? "The headers are too long." : "This is not a well-formed request." });
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n` +
      `X-Request-Id: ${randomUUID()}\r\nConnection: close\r\n\r\n${body}`,
  );
};

/** A server that stops takes nothing new, and ends what it runs: its clients are told so, not cut off. */
const stopGracefully = (app: FastifyInstance, listeners: Listeners, controlPlane: ControlPlane): void => {
  let stops = false;
  app.addHook("onRequest", (request, reply, done) => {
    if (!stops) return done();
    reply
      .code(503)
      .headers({ "x-request-id": requestIdOf(request), "retry-after": "5" })
      .send({ detail: "The server is stopping; try again." });
  });
  app.addHook("preClose", async () => {
    stops = true;
    await controlPlane.close();
    // A connection that becomes idle after the closing has begun would else be waited for until it times out.
    const closing = setInterval(() => listeners.closeIdle(), IDLE_MS);
    app.server.once("close", () => clearInterval(closing));
  });
};

/** Reads, which followers and checks of health repeat for ever. */
const isRead = ({ method, routeOptions }: FastifyRequest): boolean =>
  method === "GET" || routeOptions.url === "/v1/deployment/logs";

/** Reads that went well are the noise in which everything else would be lost. */
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

/** For browsers that open the server's address, and for bookmarks of earlier versions. */
const redirectToDocs = (app: FastifyInstance, _options: object, loaded: () => void): void => {
  app.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", requestIdOf(request));
    done();
  });
  for (const url of ["/", "/docs/"]) {
    app.get(url, (_request, reply) => reply.redirect("/docs"));
    refuseOtherMethods(app, url, ["GET"]);
  }
  loaded();
};

export const createServer = async ({ controlPlane, logger, onServed }: ServerOptions): Promise<FastifyInstance> => {
  const listeners = new Listeners();
  const app = Fastify({
    loggerInstance: logger,
    // Every line says its request's id itself; a logger a request would be made for the few that write one.
    childLoggerFactory: (parent) => parent,
    logController: new LogController({ disableRequestLogging: true }),
    forceCloseConnections: "idle",
    return503OnClosing: false,
    serverFactory: (handler) => listeners.create(handler),
    routerOptions: { ignoreTrailingSlash: false },
    frameworkErrors: (_error, request, reply) => void nothingHere(request, reply),
    clientErrorHandler: refuseBytes,
  });
  stopGracefully(app, listeners, controlPlane);
  app.addHook("onResponse", (request, reply, done) => {
    logRequest(request, reply);
    onServed?.(servedCallOf(request, reply));
    done();
  });
  app.setNotFoundHandler(nothingHere);
  // biome-ignore lint/nursery/noMisusedPromises: a plugin may be asynchronous; the type says so through an overload
  await app.register(portside, { controlPlane, health: true });
  await app.register(redirectToDocs);
  return app;
};
