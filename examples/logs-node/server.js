/** Logs a JSON line per request with pino; filters can use every field: jsonPayload.path="/cart". */
import { createServer } from "node:http";
import pino from "pino";

const logger = pino();

const pay = () => {
  throw Object.assign(new Error("the card was refused"), { code: "CARD" });
};

const server = createServer((request, response) => {
  const url = new URL(request.url, "http://localhost");
  const user = url.searchParams.get("user") ?? "nobody";
  const child = logger.child({ path: url.pathname, user });
  child.info("a request came");
  if (user === "nobody") child.warn({ hint: "add ?user=NAME" }, "who was it?");
  try {
    if (url.pathname === "/pay") pay();
    response.end(`hello ${user}\n`);
  } catch (error) {
    // The stack goes into the entry's jsonPayload.err.
    child.error(error, "could not pay");
    response.writeHead(500).end("that did not work\n");
  }
});

// On AWS, the load balancer keeps idle connections for 4000 s. A server that closes them earlier causes 502 responses.
server.keepAliveTimeout = 4_010_000;
server.listen(process.env.PORT, "0.0.0.0", () => logger.info({ port: Number(process.env.PORT) }, "listening"));
process.on("SIGTERM", () => server.close());
