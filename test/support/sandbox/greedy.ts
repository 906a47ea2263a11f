/** A service that misbehaves, for example by exceeding a limit. The path of a request selects how. */

/** For Node, as `server.js`. */
export const greedy = `
const { once } = require("node:events");
const { createServer } = require("node:http");
const { spawn } = require("node:child_process");
const { appendFileSync } = require("node:fs");
const kept = [];
const actions = {
  "/cpu": () => { for (;;); },
  "/memory": () => { for (;;) kept.push(Buffer.alloc(16 * 1024 * 1024, 1)); },
  // A shell that cannot fork exits. The bomb ends with its last shell, but its sleep processes remain.
  "/forks": () => spawn("sh", ["-c", "f() { sleep 1000 & f | f & }; f; sleep 1000"], { stdio: "ignore" }),
  "/disk": () => { const piece = Buffer.alloc(64 * 1024 * 1024, 1); for (;;) appendFileSync("/filled", piece); },
  "/deaf": () => server.close(() => setInterval(() => undefined, 1000)),
  "/logs": async () => {
    const line = "x".repeat(200) + "\\n";
    for (let n = 0; n < 200_000; n++) if (!process.stdout.write(n + line)) await once(process.stdout, "drain");
  },
};
process.on("SIGTERM", () => {});
const server = createServer((request, response) => {
  const action = actions[request.url];
  if (request.url === "/deaf") response.setHeader("connection", "close");
  response.end("hi");
  if (action !== undefined) setImmediate(action);
}).listen(process.env.PORT);
`;
