/** Logs a JSON line a request through pino; every field of it can be filtered: jsonPayload.path="/slow". */
import { createServer } from "node:http";
import pino from "pino";

const logger = pino();

const server = createServer((request, response) => {
  const user = new URL(request.url, "http://localhost").searchParams.get("user") ?? "nobody";
  const child = logger.child({ path: request.url.split("?")[0], user });
  child.info("a request came");
  if (user === "nobody") child.warn({ hint: "add ?user=NAME" }, "who was it?");
  response.end(`hello ${user}\n`);
});

server.listen(process.env.PORT, () => logger.info({ port: Number(process.env.PORT) }, "listening"));
process.on("SIGTERM", () => server.close());
