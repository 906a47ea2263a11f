/** `/metrics` on a port of its own: the figures are the operator's, and the API's port is everybody's. */
import Fastify, { type FastifyInstance } from "fastify";
import { refuseOtherMethods } from "../other-methods.ts";

export interface Figures {
  readonly contentType: string;
  text(): Promise<string>;
}

export const createMetricsServer = (figures: Figures): FastifyInstance => {
  const app = Fastify({ forceCloseConnections: true });
  app.get("/metrics", async (_request, reply) => reply.type(figures.contentType).send(await figures.text()));
  refuseOtherMethods(app, "/metrics", ["GET"]);
  app.setNotFoundHandler((_request, reply) =>
    reply.code(404).send({ detail: "There is nothing here; the figures are at /metrics." }),
  );
  return app;
};
