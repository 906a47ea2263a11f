/** Pages that describe the API: its OpenAPI document, a reader for it, and the schema of `portside.json`. */
import Fastify, { type FastifyInstance } from "fastify";
import { openApiDocument, projectSchema } from "./openapi.ts";
import { refuseOtherMethods } from "./other-methods.ts";

const once = <T>(make: () => T): (() => T) => {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
};

/**
 * The reader is large, so it is loaded at its first visit, into an application of its own. Nothing of it calls out.
 * @param prefix where the plugin was registered
 */
const loadReader = async (prefix: string): Promise<FastifyInstance> => {
  const { default: scalar } = await import("@scalar/fastify-api-reference");
  const app = Fastify();
  const configuration = {
    url: `${prefix}/openapi.json`,
    withDefaultFonts: false,
    telemetry: false,
    proxyUrl: "",
    agent: { disabled: true },
    hideClientButton: true,
  };
  await app.register(scalar as never, { routePrefix: `${prefix}/docs`, configuration } as never);
  await app.ready();
  return app;
};

export const documentRoutes = (app: FastifyInstance, { health }: { readonly health: boolean }): void => {
  const { prefix } = app;
  const reader = once(() => loadReader(prefix));
  const openapi = once(() => JSON.stringify(openApiDocument({ prefix, health })));
  const schema = once(() => JSON.stringify(projectSchema()));
  app.get("/openapi.json", (_request, reply) => reply.type("application/json").send(openapi()));
  app.get("/schema/portside.json", (_request, reply) => reply.type("application/schema+json").send(schema()));
  for (const url of ["/docs", "/docs/*"])
    app.get(url, async (request, reply) => {
      const page = await (await reader()).inject({ method: "GET", url: request.url });
      if (page.statusCode === 404) return reply.code(404).send({ detail: "There is nothing here." });
      const { location } = page.headers;
      if (typeof location === "string") reply.header("location", location);
      return reply
        .code(page.statusCode)
        .type(String(page.headers["content-type"] ?? "text/html"))
        .send(page.rawPayload);
    });
  for (const url of ["/openapi.json", "/schema/portside.json", "/docs", "/docs/*"])
    refuseOtherMethods(app, url, ["GET"]);
};
