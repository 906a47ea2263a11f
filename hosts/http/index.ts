/** The HTTP API as a Fastify plugin, and the server that Portside itself runs. */
export { createMetricsServer, type Figures } from "./metrics-server.ts";
export { openApiDocument, projectSchema } from "./openapi.ts";
export { type PortsideOptions, portside, principalOf, requestIdOf, type ServedCall } from "./plugin.ts";
export { createServer, type ServerOptions } from "./server.ts";
