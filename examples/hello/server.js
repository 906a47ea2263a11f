import { createServer } from "node:http";

const server = createServer((_request, response) => {
  response.setHeader("content-type", "text/plain");
  response.end("Hello from Portside!\n");
});

server.listen(process.env.PORT ?? 8080, () => console.log(`listening on ${server.address().port}`));

process.on("SIGTERM", () => server.close(() => process.exit(0)));
