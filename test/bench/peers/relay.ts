/** The fastest peer of the ingress: a minimal relay with undici's `Pool.stream` in Node's own server. */
import { createServer } from "node:http";
import { Pool } from "undici";

const pool = new Pool(`http://127.0.0.1:${process.argv[2]}`, { connections: null, pipelining: 1 });

const server = createServer((req, res) => {
  const { connection: _connection, "keep-alive": _keepAlive, ...headers } = req.headers;
  const hasBody = req.headers["content-length"] !== undefined || req.headers["transfer-encoding"] !== undefined;
  pool.stream(
    { path: req.url ?? "/", method: (req.method ?? "GET") as "GET", headers, body: hasBody ? req : null },
    ({ statusCode, headers: answer }) => {
      const { connection: _c, "keep-alive": _k, ...kept } = answer;
      res.writeHead(statusCode, kept);
      return res;
    },
    (error) => {
      if (error === null) return;
      res.statusCode = 502;
      res.end();
    },
  );
});

server.listen(0, "127.0.0.1", () => console.log((server.address() as { port: number }).port));
