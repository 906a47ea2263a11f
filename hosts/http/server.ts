/** Portside's own server around the plugin: health, readiness, one log line a request, a graceful end. */
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from "fastify";
import type { ControlPlane } from "../../core/control-plane.ts";
import { portside, principalOf, requestIdOf } from "./plugin.ts";

export interface ServerOptions {
  readonly controlPlane: ControlPlane;
  /** pino, or anything with its methods. */
  readonly logger: FastifyBaseLogger;
}

/** `/ready` asks the backing services at most this often. */
const READY_MS = 10_000;
const HEADERS_MS = 60_000;

const readiness = (controlPlane: ControlPlane) => {
  let cached: { at: number; ok: boolean } | undefined;
  return async (): Promise<boolean> => {
    const now = performance.now();
    if (cached === undefined || now - cached.at > READY_MS)
      cached = { at: now, ok: (await controlPlane.check()).isOk() };
    return cached.ok;
  };
};

export const createServer = async ({ controlPlane, logger }: ServerOptions): Promise<FastifyInstance> => {
  const app = Fastify({
    loggerInstance: logger,
    // One line a request is logged below; the two that Fastify would write say less.
    logController: new LogController({ disableRequestLogging: true }),
    forceCloseConnections: "idle",
    // Answers to clients that are still sending a body must not wait for the body.
    requestTimeout: 0,
    http: { headersTimeout: HEADERS_MS },
    routerOptions: { ignoreTrailingSlash: false },
  });
  const isReady = readiness(controlPlane);
  app.addHook("onResponse", async (request, reply) => {
    const { method, url } = request;
    const fields = {
      requestId: requestIdOf(request),
      account: principalOf(request)?.account,
      method,
      path: url.split("?")[0],
    };
    request.log.info({ ...fields, status: reply.statusCode, ms: Math.round(reply.elapsedTime) }, "request");
  });
  app.setNotFoundHandler((request, reply) =>
    reply.header("x-request-id", requestIdOf(request)).code(404).send({ detail: "There is nothing here." }),
  );
  app.get("/health", (_request, reply) => reply.send({ status: "ok" }));
  app.get("/ready", async (_request, reply) =>
    (await isReady())
      ? reply.send({ status: "ready" })
      : reply.code(503).header("retry-after", "10").send({ detail: "A backing service does not answer." }),
  );
  // biome-ignore lint/nursery/noMisusedPromises: a plugin may be asynchronous; the type says so through an overload
  await app.register(portside, { controlPlane });
  return app;
};
