/** The HTTP API as a Fastify plugin, and the server that Portside itself runs. */

export { openApiDocument, projectSchema } from "./docs/openapi.ts";
export { type PortsideOptions, portside, principalOf, requestIdOf, type ServedCall } from "./plugin.ts";
export { createMetricsServer, type MetricsSource } from "./server/metrics-server.ts";
export { createServer, type ServerOptions } from "./server/server.ts";
