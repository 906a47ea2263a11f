/** The HTTP API as a Fastify plugin, and the server that Portside itself runs. */
export { openApiDocument, projectSchema } from "./openapi.ts";
export { type PortsideOptions, portside, principalOf, requestIdOf } from "./plugin.ts";
export { createServer, type ServerOptions } from "./server.ts";
