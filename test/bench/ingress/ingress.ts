/** Requests a second through the ingress: proxy on core 0, load and upstream on core 1, 32 connections. */

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startOnFreePort } from "../../support/http/free-port.ts";
import type { Bench, Contender } from "../bench.ts";
import {
  canPin,
  installed,
  instancesOf,
  killOnExit,
  pin,
  programPath,
  startPeer,
  startServer,
  stop,
  wrk,
} from "../processes.ts";

/** Writes a service that runs nginx, which is so fast that the proxy is the bottleneck. */
export const upstreamSource = (folder: string, nginx: string): void => {
  const config = `daemon off; pid /tmp/bench-nginx-$PORT.pid; error_log /dev/null; worker_processes 1; events { worker_connections 1024; }
http { access_log off; keepalive_requests 1000000000; server { listen 127.0.0.1:$PORT; location / { default_type text/plain; return 200 "hello world\\n"; } } }`;
  writeFileSync(join(folder, "nginx.template"), config);
  // The shell must keep running: nginx overwrites its environment with its process title, and the benchmark finds
  // instances by their environment.
  writeFileSync(
    join(folder, "start.sh"),
    `sed "s/\\$PORT/$PORT/g" nginx.template > "$TMPDIR/nginx.conf" && ${nginx} -c "$TMPDIR/nginx.conf" -p "$TMPDIR"\n`,
  );
  writeFileSync(join(folder, "Procfile"), "web: sh start.sh\n");
};

const nodeSource = (folder: string): void => {
  writeFileSync(join(folder, "package.json"), JSON.stringify({ scripts: { start: "node server.js" } }));
  writeFileSync(
    join(folder, "server.js"),
    'require("node:http").createServer((q, s) => s.end("hello world\\n")).listen(process.env.PORT);',
  );
};

const startNginx = (folder: string, upstream: number) =>
  startOnFreePort((port) => {
    const config = join(folder, "proxy.conf");
    writeFileSync(
      config,
      `daemon off; pid ${folder}/nginx.pid; error_log /dev/null; worker_processes 1; events { worker_connections 1024; }
http { access_log off; keepalive_requests 1000000000; upstream u { server 127.0.0.1:${upstream}; keepalive 64; keepalive_requests 1000000000; }
server { listen 127.0.0.1:${port}; location / { proxy_pass http://u; proxy_http_version 1.1; proxy_set_header Connection ""; } } }`,
    );
    return killOnExit(spawn("taskset", ["-c", "0", "nginx", "-c", config, "-p", folder], { stdio: "ignore" }));
  }, "/");

export const ingress: Bench = {
  name: "ingress",
  title: "requests a second through the ingress (proxy on core 0, load and upstream on core 1, 32 connections)",
  unit: "requests/s",
  goals: [
    { peer: "undici relay", at: "least", bound: 0.9 },
    { peer: "http-proxy-3", at: "least", bound: 1.8 },
    { peer: "nginx", at: "least", bound: 0.5 },
  ],
  prepare: async ({ small }) => {
    if (!installed("wrk") || !canPin()) throw new Error("wrk and taskset are missing (Debian: wrk, util-linux)");
    const folder = mkdtempSync(join(tmpdir(), "portside-bench-ingress-"));
    const nginxProgram = programPath("nginx");
    const hasNginx = nginxProgram !== undefined;
    const source = join(folder, "source");
    mkdirSync(source);
    if (hasNginx) upstreamSource(source, nginxProgram);
    else nodeSource(source);
    const server = await startServer("--runner", "process", "--requests-per-minute", "1000000000");
    await server.cli("deploy", source, "--name", "upstream");
    const [{ url }] = JSON.parse(await server.cli("list", "--json")) as [{ url: string }];
    await (await fetch(url)).text();
    pin(server.pid, 0);
    const instances = instancesOf(server);
    for (const { pid } of instances) pin(pid, 1);
    const { port } = instances[0] as { port: number };
    const relay = await startPeer("test/bench/peers/relay.ts", String(port));
    const popular = await startPeer("test/bench/peers/http-proxy.ts", String(port));
    for (const { pid } of [relay, popular]) pin(pid, 0);
    const nginx = hasNginx ? await startNginx(folder, port) : undefined;
    const seconds = small ? 1 : 5;
    const load = (name: string, target: string): Contender => ({
      name,
      measure: () => wrk(target, { seconds, connections: 32, core: 1 }),
    });
    return {
      subject: load("portside", url),
      peers: [
        load("undici relay", `http://127.0.0.1:${relay.port}/`),
        load("http-proxy-3", `http://127.0.0.1:${popular.port}/`),
        ...(nginx === undefined ? [] : [load("nginx", `${nginx.url}/`)]),
      ],
      missing: hasNginx ? [] : ["nginx is not installed, so it is neither the upstream nor a peer"],
      [Symbol.asyncDispose]: async () => {
        if (nginx !== undefined) await stop(nginx.child);
        await relay[Symbol.asyncDispose]();
        await popular[Symbol.asyncDispose]();
        await server[Symbol.asyncDispose]();
        rmSync(folder, { recursive: true });
      },
    };
  },
};
