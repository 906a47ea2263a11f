/** Serves the OpenAPI document as JSON and as an HTML page, and the JSON Schema of `portside.json`. */
import type { FastifyInstance } from "fastify";
import { rejectOtherMethods } from "../other-methods.ts";
import { type ApiDocument, docsPage } from "./docs-page.ts";
import { type OpenApiOptions, openApiDocument, projectSchema } from "./openapi.ts";

const lazy = <T>(create: () => T): (() => T) => {
  let created: { value: T } | undefined;
  return () => {
    created ??= { value: create() };
    return created.value;
  };
};

export const documentRoutes = (app: FastifyInstance, options: Omit<OpenApiOptions, "prefix">): void => {
  const { prefix } = app;
  const document = lazy(() => openApiDocument({ ...options, prefix }));
  const documents = {
    "/openapi.json": ["application/json", lazy(() => JSON.stringify(document()))],
    "/schema/portside.json": ["application/schema+json", lazy(() => JSON.stringify(projectSchema()))],
    "/docs": ["text/html; charset=utf-8", lazy(() => docsPage(document() as unknown as ApiDocument, prefix))],
  } as const;
  for (const [url, [type, text]] of Object.entries(documents)) {
    app.get(url, (_request, reply) => reply.type(type).send(text()));
    rejectOtherMethods(app, url, ["GET"]);
  }
};
