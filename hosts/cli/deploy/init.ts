/** `portside init` */

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { deploymentNameProblem } from "../../../core/domain/wire/names.ts";
import { option } from "../arguments.ts";
import type { Command } from "../command.ts";
import { type Io, print, UsageError } from "../terminal/io.ts";

const portsideJson = (name: string): string =>
  `${JSON.stringify({ $schema: "https://unpkg.com/portside/schema/portside.json", name, memory: "256Mi", volumes: {} }, null, 2)}\n`;

const ignore = "# Files not to deploy, in addition to .gitignore, node_modules, .git and .env files.\n*.log\n*.md\n";

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

const templates: Readonly<Record<string, (name: string) => Readonly<Record<string, string>>>> = {
  node: (name) => ({
    "package.json": `${JSON.stringify({ name, private: true, type: "module", scripts: { start: "node server.js" } }, null, 2)}\n`,
    "server.js": nodeServer.replace("NAME", name),
  }),
  python: (name) => ({ "main.py": pythonServer.replace("NAME", name) }),
};

const writeNew = (io: Io, folder: string, files: Readonly<Record<string, string>>): void => {
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name);
    if (existsSync(path)) print(io, `kept     ${path} (exists)`);
    else {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text, { flag: "wx" });
      print(io, `wrote    ${path}`);
    }
  }
};

export const command: Command = {
  usage: "init [NAME] [--template node|python]",
  options: {
    template: option("NAME", "Choose node (default) or python", { short: "t", choices: Object.keys(templates) }),
  },
  positionals: { min: 0, max: 1 },
  examples: ["init hello", "init hello --template python"],
  notes: ["Writes to the folder NAME or, without NAME, to the current folder. Does not overwrite files."],
  run: async (input, io) => {
    const [given] = input.positionals;
    const folder = given === undefined ? io.cwd : resolve(io.cwd, given);
    const name = basename(folder).replaceAll("_", "-");
    const problem = deploymentNameProblem(name);
    if (problem !== undefined) throw new UsageError(`'${name}' is not a valid deployment name: ${problem}.`);
    const template = input.text("template") ?? "node";
    const files = templates[template];
    if (files === undefined)
      throw new UsageError(`Unknown template '${template}'. Choose ${Object.keys(templates).join(" or ")}.`);
    writeNew(io, folder, { ...files(name), "portside.json": portsideJson(name), ".portsideignore": ignore });
    const where = given === undefined ? "" : ` ${given}`;
    print(io, `\nNext: run it here with 'portside run${where}', or deploy it with 'portside deploy${where}'.`);
    return 0;
  },
};
