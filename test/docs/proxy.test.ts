/**
 * The nginx configuration in docs/operations/running.md passes on the records of deploys without buffering. It also
 * forwards requests to services and signed uploads.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Serving, startServing } from "../../hosts/cli/server/serving.ts";
import { resolveSettings } from "../../hosts/composition/settings.ts";
import { nodeSource } from "../support/archives/archives.ts";
import { startOnFreePort } from "../support/http/free-port.ts";
import { needs } from "../support/vitest/machine.ts";

/** The source of a server that listens only when a file exists. */
const waiting = (file: string) => `
import { existsSync } from "node:fs";
import { createServer } from "node:http";
while (!existsSync(${JSON.stringify(file)})) await new Promise((done) => setTimeout(done, 20));
createServer((request, response) => response.end("through the proxy")).listen(process.env.PORT);
`;

const run = promisify(execFile);
const host = { api: "portside.example.com", service: "hello.apps.example.com", storage: "storage.apps.example.com" };

let folder: string;
let serving: Serving;
let nginx: ChildProcess | undefined;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "portside-proxy-"));
  const flags = { dataDir: join(folder, "data"), port: "0", ingressPort: "0", runner: "process" };
  serving = await startServing(
    resolveSettings({ ...flags, domain: "https://apps.example.com", logLevel: "error" }, {}),
  );
});
afterEach(async () => {
  if (nginx !== undefined) {
    const ended = once(nginx, "exit");
    if (nginx.kill()) await ended;
  }
  await serving.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The configuration on the page, without its certificate and with the ports of the test. */
const configuration = (port: number): string => {
  const [, block = ""] = /```nginx\n(.*?)```/s.exec(readFileSync("docs/operations/running.md", "utf8")) ?? [];
  const portOf = (url = ""): string => new URL(url).port;
  const servers = block
    .replaceAll("listen 443 ssl;", `listen 127.0.0.1:${port};`)
    .replace("127.0.0.1:8787", `127.0.0.1:${portOf(serving.url)}`)
    .replace("127.0.0.1:8080", `127.0.0.1:${portOf(serving.ingress)}`);
  const own = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  return `daemon off; pid ${folder}/nginx.pid; error_log ${folder}/error.log; events {}
http { access_log off; server { listen 127.0.0.1:${port}; server_name up; return 204; }
${own.join("\n")}\n${servers} }\n`;
};

const startProxy = async (): Promise<string> => {
  const { child, url } = await startOnFreePort((port) => {
    writeFileSync(join(folder, "nginx.conf"), configuration(port));
    return spawn("nginx", ["-p", folder, "-e", join(folder, "error.log"), "-c", join(folder, "nginx.conf")]);
  }, "/");
  nginx = child;
  return url;
};

test("records arrive as they happen; services and signed uploads work", async (context) => {
  needs(context, "nginx", "curl");
  const url = await startProxy();
  const key = `X-API-Key: ${serving.apiKey}`;
  const go = join(folder, "go");
  writeFileSync(join(folder, "source.tar.gz"), nodeSource(waiting(go)));
  const form = [
    "-F",
    "function_name=hello",
    "-F",
    "volumes={}",
    "-F",
    `source_archive=@${join(folder, "source.tar.gz")}`,
  ];
  const deploy = spawn("curl", ["-sN", "-H", `Host: ${host.api}`, "-H", key, ...form, `${url}/v1/deploy`]);
  let last = "";
  for await (const line of createInterface({ input: deploy.stdout })) {
    const { message, status } = JSON.parse(line) as { message: string; status: string };
    // The deploy cannot end before the test has received this record, so a buffering proxy would block it forever.
    if (message.startsWith("Starting revision")) writeFileSync(go, "");
    last = status;
  }
  expect(last).toBe("DONE");
  const called = await run("curl", ["-s", "-H", `Host: ${host.service}`, url]);
  expect(called.stdout).toBe("through the proxy");

  const call = (path: string, body: object) =>
    run("curl", ["-s", "-H", `Host: ${host.api}`, "-H", key, "--json", JSON.stringify(body), `${url}${path}`]);
  await call("/v1/volume/create", { name: "files" });
  const granted = JSON.parse((await call("/v1/volume/upload", { volume: "files", object: "a.bin" })).stdout) as {
    url: string;
  };
  const { origin, pathname, search } = new URL(granted.url);
  expect(origin).toBe(`https://${host.storage}`);
  // Larger than nginx accepts by default.
  writeFileSync(join(folder, "a.bin"), Buffer.alloc(3_000_000));
  const upload = ["-s", "-o", join(folder, "answer"), "-w", "%{http_code}", "-T", join(folder, "a.bin")];
  const put = await run("curl", [...upload, "-H", `Host: ${host.storage}`, `${url}${pathname}${search}`]);
  expect(put.stdout).toBe("201");
});
