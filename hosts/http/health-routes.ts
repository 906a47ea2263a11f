/** Whether the process is up, and whether it could serve: for supervisors and load balancers, without credentials. */
import type { FastifyInstance } from "fastify";
import type { ControlPlane } from "../../core/control-plane.ts";
import { refuseOtherMethods } from "./other-methods.ts";

/** `/ready` asks the backing services at most this often. */
const READY_MS = 10_000;

const readiness = (controlPlane: ControlPlane) => {
  let cached: { at: number; ok: boolean } | undefined;
  return async (): Promise<boolean> => {
    const now = performance.now();
    if (cached === undefined || now - cached.at > READY_MS)
      cached = { at: now, ok: (await controlPlane.check()).isOk() };
    return cached.ok;
  };
};

export const healthRoutes = (app: FastifyInstance, controlPlane: ControlPlane): void => {
  const isReady = readiness(controlPlane);
  app.get("/health", (_request, reply) => reply.send({ status: "ok" }));
  app.get("/ready", async (_request, reply) =>
    (await isReady())
      ? reply.send({ status: "ready" })
      : reply.code(503).header("retry-after", "10").send({ detail: "A backing service does not answer." }),
  );
  for (const url of ["/health", "/ready"]) refuseOtherMethods(app, url, ["GET"]);
};
