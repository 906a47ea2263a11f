/** Whether the process is up, and whether it could serve: for supervisors and load balancers, without credentials. */
import type { FastifyInstance } from "fastify";
import type { ControlPlane } from "../../../core/control-plane.ts";
import { refuseOtherMethods } from "../other-methods.ts";

/** `/ready` asks the backing services at most this often. */
const READY_MS = 10_000;

const ANY = "A backing service does not answer.";

/** The words of a refusal; undefined if everything works. */
const ask = async (controlPlane: ControlPlane): Promise<string | undefined> => {
  const checked = await controlPlane.check();
  if (checked.isOk()) return undefined;
  const down = checked.error.kind === "unavailable" ? (checked.error.down ?? []) : [];
  return down.length === 0 ? ANY : `Not ready: ${down.join("; ")}.`;
};

const readiness = (controlPlane: ControlPlane) => {
  let cached: { readonly at: number; readonly refusal: Promise<string | undefined> } | undefined;
  return (): Promise<string | undefined> => {
    const now = performance.now();
    if (cached === undefined || now - cached.at > READY_MS) cached = { at: now, refusal: ask(controlPlane) };
    return cached.refusal;
  };
};

export const healthRoutes = (app: FastifyInstance, controlPlane: ControlPlane): void => {
  const refusal = readiness(controlPlane);
  app.get("/health", (_request, reply) => reply.send({ status: "ok" }));
  app.get("/ready", async (_request, reply) => {
    const detail = await refusal();
    return detail === undefined
      ? reply.send({ status: "ready" })
      : reply.code(503).header("retry-after", "10").send({ detail });
  });
  for (const url of ["/health", "/ready"]) refuseOtherMethods(app, url, ["GET"]);
};
