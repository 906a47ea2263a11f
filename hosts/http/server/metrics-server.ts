/** Serves `/metrics` on a separate port: metrics are for the operator only, and the API's port is public. */
import Fastify, { type FastifyInstance } from "fastify";
import { rejectOtherMethods } from "../other-methods.ts";

/** Metrics in a text format. `createMetrics` of `portside/metrics` returns one. */
export interface MetricsSource {
  readonly contentType: string;
  text(): Promise<string>;
}

export const createMetricsServer = (metrics: MetricsSource): FastifyInstance => {
  const app = Fastify({ forceCloseConnections: true });
  app.get("/metrics", async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()));
  rejectOtherMethods(app, "/metrics", ["GET"]);
  app.setNotFoundHandler((_request, reply) =>
    reply.code(404).send({ detail: "No endpoint has this path. The metrics are at /metrics." }),
  );
  return app;
};
