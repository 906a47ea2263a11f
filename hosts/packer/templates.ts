/** Service templates for `portside init` and for the console's example. */

const nodeServer = `import { createServer } from "node:http";

const server = createServer((request, response) => {
  console.log(JSON.stringify({ severity: "INFO", message: "hello", path: request.url }));
  response.setHeader("content-type", "text/plain");
  response.end("Hello from NAME!\\n");
});

// On AWS, the load balancer keeps idle connections for 4000 s. A server that closes them earlier causes 502 responses.
server.keepAliveTimeout = 4_010_000;
server.listen(process.env.PORT ?? 8080);

// Portside sends SIGTERM before it stops an instance. Finish the running requests, then exit.
process.on("SIGTERM", () => server.close(() => process.exit(0)));
`;

const pythonServer = `import json
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        print(json.dumps({"severity": "INFO", "message": "hello", "path": self.path}), flush=True)
        body = b"Hello from NAME!\\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


# Portside sends SIGTERM before it stops an instance.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
ThreadingHTTPServer(("0.0.0.0", int(os.environ.get("PORT", "8080"))), Handler).serve_forever()
`;

/** The files of each template, by the language of its service. */
export const templates = {
  node: (name) => ({
    "package.json": `${JSON.stringify({ name, private: true, type: "module", scripts: { start: "node server.js" } }, null, 2)}\n`,
    "server.js": nodeServer.replace("NAME", name),
  }),
  python: (name) => ({ "main.py": pythonServer.replace("NAME", name) }),
} as const satisfies Record<string, (name: string) => Readonly<Record<string, string>>>;
