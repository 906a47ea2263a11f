/** Responds with 405 and `Allow` to methods that a path does not support. */
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from "fastify";

/** @param admit checks the credential before the 405, and returns false if it sent an error response; optional */
export const rejectOtherMethods = (
  app: FastifyInstance,
  url: string,
  methods: readonly string[],
  admit?: (request: FastifyRequest, reply: FastifyReply) => Promise<boolean>,
): void => {
  // Fastify adds a HEAD route for every GET route.
  const allowed = methods.includes("GET") ? [...methods, "HEAD"] : methods;
  const reject = (reply: FastifyReply) =>
    reply
      .code(405)
      .header("allow", allowed.join(", "))
      .send({ detail: `Method not allowed. This path supports ${methods.join(" and ")}.` });
  app.route({
    method: app.supportedMethods.filter((method) => !allowed.includes(method)) as HTTPMethods[],
    url,
    // Respond before the body is parsed, because a 405 does not depend on the body.
    onRequest: async (request, reply) => (admit === undefined || (await admit(request, reply)) ? reject(reply) : reply),
    handler: (_request, reply) => reject(reply),
  });
};
