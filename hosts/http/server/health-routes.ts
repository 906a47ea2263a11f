/** Liveness (`/health`) and readiness (`/ready`), for supervisors and load balancers. Neither needs a credential. */
import type { FastifyInstance } from "fastify";
import type { ControlPlane } from "../../../core/control-plane.ts";
import { rejectOtherMethods } from "../other-methods.ts";

/** `/ready` checks the backing services at most this often. */
const READY_MS = 10_000;

/** Returns the detail of the 503, or undefined if every backing service responds. */
const findFailure = async (controlPlane: ControlPlane): Promise<string | undefined> => {
  const checked = await controlPlane.check();
  if (checked.isOk()) return undefined;
  const down = checked.error.kind === "unavailable" ? (checked.error.down ?? []) : [];
  return down.length === 0 ? "A backing service does not respond." : `Not ready: ${down.join("; ")}.`;
};

const readiness = (controlPlane: ControlPlane) => {
  let cached: { readonly at: number; readonly failure: Promise<string | undefined> } | undefined;
  return (): Promise<string | undefined> => {
    const now = performance.now();
    if (cached === undefined || now - cached.at > READY_MS) cached = { at: now, failure: findFailure(controlPlane) };
    return cached.failure;
  };
};

export const healthRoutes = (app: FastifyInstance, controlPlane: ControlPlane): void => {
  const checkReadiness = readiness(controlPlane);
  app.get("/health", (_request, reply) => reply.send({ status: "ok" }));
  app.get("/ready", async (_request, reply) => {
    const detail = await checkReadiness();
    return detail === undefined
      ? reply.send({ status: "ready" })
      : reply.code(503).header("retry-after", "10").send({ detail });
  });
  for (const url of ["/health", "/ready"]) rejectOtherMethods(app, url, ["GET"]);
};
