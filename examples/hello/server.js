import { createServer } from "node:http";

const server = createServer((_request, response) => {
  response.setHeader("content-type", "text/plain");
  response.end("Hello from Portside!\n");
});

// The load balancer of AWS keeps idle connections for 4000 s. If a server closes them earlier, requests may fail with 502.
server.keepAliveTimeout = 4_010_000;
server.listen(process.env.PORT ?? 8080, () => console.log(`listening on ${server.address().port}`));

process.on("SIGTERM", () => server.close(() => process.exit(0)));
