/** The peer of the API: a bare Fastify route that returns the same bytes. */
import { readFileSync } from "node:fs";
import Fastify from "fastify";

const value: unknown = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"));
const app = Fastify();
app.get("/v1/deployment/list", (_request, reply) => reply.send(value));

await app.listen({ host: "127.0.0.1", port: 0 });
console.log((app.server.address() as { port: number }).port);
