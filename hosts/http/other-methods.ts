/** A method that a path does not have is a 405 that names those it has. */
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from "fastify";

/** @param admit false where the caller was refused and answered already; absent where anybody may know */
export const refuseOtherMethods = (
  app: FastifyInstance,
  url: string,
  has: readonly string[],
  admit?: (request: FastifyRequest, reply: FastifyReply) => Promise<boolean>,
): void => {
  // Fastify answers HEAD wherever it answers GET.
  const allowed = has.includes("GET") ? [...has, "HEAD"] : has;
  const refuse = (reply: FastifyReply) =>
    reply
      .code(405)
      .header("allow", allowed.join(", "))
      .send({ detail: `This path has ${has.join(", ")} only.` });
  app.route({
    method: app.supportedMethods.filter((method) => !allowed.includes(method)) as HTTPMethods[],
    url,
    // From the headers: whatever body comes along is of no interest.
    onRequest: async (request, reply) => (admit === undefined || (await admit(request, reply)) ? refuse(reply) : reply),
    handler: (_request, reply) => refuse(reply),
  });
};
