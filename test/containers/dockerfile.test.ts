/** Typical sources with a Dockerfile: deploy, call, log, stop. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { DeployEvent } from "../../core/domain/deploy/events.ts";
import { sourceOf, tarGz } from "../support/archives/archives.ts";
import { principalOf, startLocal, type TestPlatform } from "../support/providers/local-platform.ts";
import { eventually } from "../support/vitest/eventually.ts";
import { needs } from "../support/vitest/machine.ts";

let platform: TestPlatform;
beforeAll(async () => {
  platform = await startLocal({ graceSeconds: 10 });
});
afterAll(() => platform[Symbol.asyncDispose]());

const logOf = async (name: string): Promise<string[]> => {
  const page = await platform.controlPlane.readLogs(principalOf("acme"), { deployment_name: name, limit: 100 });
  return page._unsafeUnwrap().logs.map(({ message }) => message);
};
const words = (records: readonly DeployEvent[]) => records.map(({ message }) => message).join("\n");
const remove = async (name: string) =>
  (await platform.controlPlane.deleteDeployment(principalOf("acme"), { name }))._unsafeUnwrap();

const python = `import http.server, os, signal, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print("called", self.path)
        self.send_response(200); self.end_headers(); self.wfile.write(open("/built").read().encode())
    def log_message(self, *a): pass
def stop(*a):
    print("goodbye"); sys.exit(0)
signal.signal(signal.SIGTERM, stop)
print("up")
http.server.HTTPServer(("0.0.0.0", int(os.environ["PORT"])), Handler).serve_forever()
`;

test("Python: RUN, COPY, CMD, and unbuffered output", async (context) => {
  needs(context, "base images");
  const Dockerfile = `FROM python:3.11-slim-bookworm
ENV PYTHONUNBUFFERED=1
WORKDIR /srv
RUN echo made by RUN > /built
COPY . .
CMD ["python", "main.py"]
`;
  const url = await platform.up(sourceOf({ Dockerfile, "main.py": python }), { function_name: "py" });
  expect(await (await fetch(url)).text()).toBe("made by RUN\n");
  await eventually(async () => expect(await logOf("py")).toEqual(expect.arrayContaining(["up", "called /"])));
  await remove("py");
  await eventually(async () => expect(await logOf("py")).toContain("goodbye"));
});

const node = (body: string): string => `const http = require("node:http");
const server = http.createServer((request, response) => { ${body} });
server.listen(process.env.PORT, () => console.log("up"));
process.on("SIGTERM", () => { console.log("goodbye"); server.close(() => process.exit(0)); });
`;

test("Node in several stages: the last one contains only what it copies", async (context) => {
  needs(context, "base images");
  const Dockerfile = `FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY . .
RUN mkdir out && sed s/GREETING/hello/ main.js > out/main.js
FROM node:24-bookworm-slim
WORKDIR /srv
COPY --from=build /build/out ./
CMD ["node", "main.js"]
`;
  const main = node(`response.end("GREETING " + require("node:fs").readdirSync(".").join())`);
  const url = await platform.up(sourceOf({ Dockerfile, "main.js": main, "left.txt": "x" }), {
    function_name: "stages",
  });
  expect(await (await fetch(url)).text()).toBe("hello main.js");
  await remove("stages");
});

test("an unprivileged service can write to its volume, and to no folder of root", async (context) => {
  needs(context, "base images");
  const Dockerfile = `FROM node:24-bookworm-slim
RUN useradd --uid 1234 someone
WORKDIR /srv
COPY main.js .
USER someone
CMD ["node", "main.js"]
`;
  const main = node(`
    const fs = require("node:fs");
    const tried = (path) => { try { fs.writeFileSync(path, "x"); return "written"; } catch (error) { return error.code; } };
    response.end(JSON.stringify({ uid: process.getuid(), data: tried("/data/x"), etc: tried("/etc/x") }));`);
  const url = await platform.up(sourceOf({ Dockerfile, "main.js": main }), {
    function_name: "unprivileged",
    volumes: { "/data": "mine" },
  });
  expect(await (await fetch(url)).json()).toEqual({ uid: 1234, data: "written", etc: "EACCES" });
  await remove("unprivileged");
});

test("a script as the entry point forwards signals to its child", async (context) => {
  needs(context, "base images");
  const Dockerfile = `FROM node:24-bookworm-slim
COPY entry.sh /entry.sh
COPY main.js /srv/main.js
ENTRYPOINT ["/entry.sh"]
CMD ["node", "/srv/main.js"]
`;
  const archive = tarGz([
    { path: "Dockerfile", content: Dockerfile },
    { path: "entry.sh", content: '#!/bin/sh\necho entering\nexec "$@"\n', mode: 0o755 },
    { path: "main.js", content: node(`response.end("hi")`) },
  ]);
  const url = await platform.up(archive, { function_name: "entry" });
  expect(await (await fetch(url)).text()).toBe("hi");
  await remove("entry");
  await eventually(async () =>
    expect(await logOf("entry")).toEqual(expect.arrayContaining(["entering", "up", "goodbye"])),
  );
});

test("respects .dockerignore and its exceptions", async (context) => {
  needs(context, "base images");
  const Dockerfile = `FROM node:24-bookworm-slim
WORKDIR /srv
COPY . .
CMD ["node", "main.js"]
`;
  const main = node(`response.end(require("node:fs").readdirSync(".", { recursive: true }).sort().join())`);
  const files = {
    Dockerfile,
    "main.js": main,
    "a/b.txt": "",
    "a/keep.txt": "",
    "secret.env": "",
    ".dockerignore": "a\n!a/keep.txt\n*.env\nDockerfile\n",
  };
  const url = await platform.up(sourceOf(files), { function_name: "ignoring" });
  expect(await (await fetch(url)).text()).toBe(".dockerignore,a,a/keep.txt,main.js");
  await remove("ignoring");
});

const failing = async (files: Readonly<Record<string, string>>) => {
  const records = await platform.deploy(sourceOf(files), { function_name: "failing" });
  return { last: records.at(-1), output: words(records) };
};

test("reports a failed step with its exit code and last lines", async (context) => {
  needs(context, "base images");
  const { last, output } = await failing({ Dockerfile: "FROM node:24-bookworm-slim\nRUN echo before && exit 7\n" });
  expect(last).toMatchObject({ status: "ERROR", reason: "build_failed", exit_code: 7 });
  expect(last?.message).toContain("RUN echo before && exit 7");
  expect(output).toContain("before");
});

test("reports a base image that does not exist", async (context) => {
  needs(context, "containers");
  const { last } = await failing({ Dockerfile: "FROM no.such.registry.invalid/nothing:1\n" });
  expect(last).toMatchObject({ status: "ERROR", reason: "build_failed" });
  expect(last?.message).toContain("base image");
});

test("rejects a Dockerfile that does not parse, and one without a command", async (context) => {
  needs(context, "containers");
  expect((await failing({ Dockerfile: "FROM scratch\nBOGUS x\n" })).last).toMatchObject({ reason: "build_failed" });
  const nothing = (await failing({ Dockerfile: "FROM scratch\nCOPY Dockerfile /x\n" })).last;
  expect(nothing).toMatchObject({ status: "ERROR", reason: "crashed" });
});
