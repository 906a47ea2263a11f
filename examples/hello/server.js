import { createServer } from "node:http";

const server = createServer((_request, response) => {
  response.setHeader("content-type", "text/plain");
  response.end("Hello from Portside!\n");
});

// On AWS, the load balancer keeps idle connections for 4000 s. A server that closes them earlier causes 502 responses.
server.keepAliveTimeout = 4_010_000;
server.listen(process.env.PORT ?? 8080, () => console.log(`listening on ${server.address().port}`));

process.on("SIGTERM", () => server.close(() => process.exit(0)));
