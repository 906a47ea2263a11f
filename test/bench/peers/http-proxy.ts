/** A popular peer of the ingress: http-proxy-3 with its defaults and a keep-alive agent. */
import { Agent, createServer } from "node:http";
import { createProxyServer } from "http-proxy-3";

const proxy = createProxyServer({
  target: `http://127.0.0.1:${process.argv[2]}`,
  agent: new Agent({ keepAlive: true }),
});
const server = createServer((req, res) => proxy.web(req, res));

server.listen(0, "127.0.0.1", () => console.log((server.address() as { port: number }).port));
