/** Pages that describe the API: its OpenAPI document, the same as a page, and the schema of `portside.json`. */
import type { FastifyInstance } from "fastify";
import { refuseOtherMethods } from "../other-methods.ts";
import { type ApiDocument, docsPage } from "./docs-page.ts";
import { openApiDocument, projectSchema } from "./openapi.ts";

const once = <T>(make: () => T): (() => T) => {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
};

export const documentRoutes = (app: FastifyInstance, { health }: { readonly health: boolean }): void => {
  const { prefix } = app;
  const document = once(() => openApiDocument({ prefix, health }));
  const documents = {
    "/openapi.json": ["application/json", once(() => JSON.stringify(document()))],
    "/schema/portside.json": ["application/schema+json", once(() => JSON.stringify(projectSchema()))],
    "/docs": ["text/html; charset=utf-8", once(() => docsPage(document() as unknown as ApiDocument, prefix))],
  } as const;
  for (const [url, [type, text]] of Object.entries(documents)) {
    app.get(url, (_request, reply) => reply.type(type).send(text()));
    refuseOtherMethods(app, url, ["GET"]);
  }
};
