/** Logs of real services: lines ingested per second, the delay until a terminal shows them, pages over HTTP. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { LogPage } from "../../core/domain/logs/entry.ts";
import { type Bench, median } from "./bench.ts";
import { type Server, startServer } from "./processes.ts";

const sourceWith = (script: string): string => {
  const folder = mkdtempSync(join(tmpdir(), "portside-bench-source-"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ scripts: { start: "node server.js" } }));
  writeFileSync(join(folder, "server.js"), script);
  return folder;
};

const deployed = async (server: Server, script: string): Promise<string> => {
  const folder = sourceWith(script);
  await server.cli("deploy", folder, "--name", "app");
  rmSync(folder, { recursive: true });
  const [{ url }] = JSON.parse(await server.cli("list", "--json")) as [{ url: string }];
  return url;
};

const readPage = async (server: Server, request: object): Promise<LogPage> => {
  const response = await fetch(`${server.url}/v1/deployment/logs`, {
    method: "POST",
    headers: { "x-api-key": server.apiKey, "content-type": "application/json" },
    body: JSON.stringify({ deployment_name: "app", limit: 100, ...request }),
  });
  return (await response.json()) as LogPage;
};

/**
 * Prints numbered JSON lines for `ms` milliseconds: `pace` lines every ten milliseconds, or as many as fit the pipe.
 */
const printing = `
let n = 0;
require("node:http").createServer(async (req, res) => {
  const asked = new URL(req.url, "http://x").searchParams;
  const pace = Number(asked.get("pace") ?? 0);
  const begun = Date.now();
  const ends = begun + Number(asked.get("ms"));
  while (Date.now() < ends) {
    let lines = "";
    for (let i = 0; i < (pace || 200); i++) lines += JSON.stringify({ level: 30, time: Date.now(), n: n++, msg: "an order was placed", user: "ann" }) + "\\n";
    if (!process.stdout.write(lines)) await new Promise((drained) => process.stdout.once("drain", drained));
    else await new Promise((next) => (pace ? setTimeout(next, 10) : setImmediate(next)));
  }
  res.end(String(n));
}).listen(process.env.PORT);
`;

export const logIngest: Bench = {
  name: "log-ingest",
  title: "JSON lines ingested per second from a real process that prints at full speed",
  unit: "lines/s",
  goals: [{ at: "least", bound: 100_000 }],
  prepare: async ({ small }) => {
    const server = await startServer("--runner", "process", "--requests-per-minute", "1000000000");
    const url = await deployed(server, printing);
    const millis = small ? 1000 : 10_000;
    let before = 0;
    const measure = async () => {
      const count = Number(await (await fetch(`${url}?ms=${millis}`)).text());
      const lines = count - before;
      before = count;
      return lines / (millis / 1000);
    };
    return {
      subject: { name: "one service", measure },
      peers: [],
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
};

export const logDelay: Bench = {
  name: "log-delay",
  title: "response time of GET /health (99th percentile) while a service logs 100,000 JSON lines a second",
  unit: "ms",
  goals: [{ at: "most", bound: 10 }],
  prepare: async ({ small }) => {
    const server = await startServer("--runner", "process");
    const url = await deployed(server, printing);
    const measure = async () => {
      const run = fetch(`${url}?ms=${small ? 500 : 8000}&pace=1000`);
      let running = true;
      void run.finally(() => {
        running = false;
      });
      const times: number[] = [];
      while (running) {
        const begun = performance.now();
        await (await fetch(`${server.url}/health`)).text();
        times.push(performance.now() - begun);
        await sleep(5);
      }
      await (await run).text();
      return times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] as number;
    };
    return {
      subject: { name: "GET /health", measure },
      peers: [],
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
};

/** Prints the current time ten times a second. */
const ticking = `
require("node:http").createServer((req, res) => res.end("ok")).listen(process.env.PORT);
setInterval(() => console.log(JSON.stringify({ tick: Date.now() })), 100);
`;

export const logFollow: Bench = {
  name: "log-follow",
  title: "delay from console.log in a service to `portside logs -f` (95th percentile)",
  unit: "ms",
  goals: [{ at: "most", bound: 500 }],
  prepare: async ({ small }) => {
    const server = await startServer("--runner", "process");
    await deployed(server, ticking);
    const measure = async () => {
      const child = spawn(process.execPath, ["dist/hosts/cli/main.js", "logs", "app", "-f", "-n", "1", "--json"], {
        env: { ...process.env, PORTSIDE_URL: server.url, PORTSIDE_API_KEY: server.apiKey },
        stdio: ["ignore", "pipe", "inherit"],
      });
      const delays: number[] = [];
      const wanted = small ? 5 : 60;
      for await (const line of createInterface({ input: child.stdout })) {
        const { tick } = JSON.parse((JSON.parse(line) as { message: string }).message) as { tick?: number };
        if (tick !== undefined) delays.push(Date.now() - tick);
        if (delays.length > wanted) break;
      }
      child.kill();
      // The first line was printed before the follower connected.
      return delays.slice(1).sort((a, b) => a - b)[Math.floor((delays.length - 1) * 0.95)] as number;
    };
    return {
      subject: { name: "portside logs -f", measure },
      peers: [],
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
};

/** Prints the current time for each request. */
const printingOnce = `
require("node:http").createServer((req, res) => {
  console.log(JSON.stringify({ tick: Date.now() }));
  res.end("ok");
}).listen(process.env.PORT);
`;

/** How long the held request has waited when the service prints the entry. The longest exceeds the shortest pause. */
const WAITED_MS = [300, 450, 600, 750, 900];

export const logWait: Bench = {
  name: "log-wait",
  title: "delay from console.log in a service to the response of a request that waits for the entry (median)",
  unit: "ms",
  goals: [],
  prepare: async ({ small }) => {
    const server = await startServer("--runner", "process");
    const url = await deployed(server, printingOnce);
    const measure = async () => {
      const delays: number[] = [];
      for (let n = 0; n < (small ? 2 : 20); n++) {
        const { cursor: since } = await readPage(server, { query: "jsonPayload.tick>0", limit: 1 });
        const held = readPage(server, { since, query: "jsonPayload.tick>0", wait: 25 });
        await sleep(WAITED_MS[n % WAITED_MS.length]);
        await (await fetch(url)).text();
        const { tick } = JSON.parse((await held).logs[0]?.message ?? "{}") as { tick: number };
        delays.push(Date.now() - tick);
      }
      return median(delays);
    };
    return {
      subject: { name: "POST /v1/deployment/logs", measure },
      peers: [],
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
};

export const logHttp: Bench = {
  name: "log-http",
  title: "reading a page of 100 entries over HTTP from a log of a million lines (median)",
  unit: "ms",
  goals: [],
  prepare: async ({ small }) => {
    const server = await startServer("--runner", "process", "--requests-per-minute", "1000000000");
    const url = await deployed(server, printing);
    const wanted = small ? 10_000 : 1_000_000;
    for (let count = 0; count < wanted; ) count = Number(await (await fetch(`${url}?ms=1000`)).text());
    const cursors: string[] = [];
    for (let since = "2020-01-01T00:00:00Z"; cursors.length < 200; ) {
      const page = await readPage(server, { since, limit: 1000 });
      if (page.logs.length === 0) break;
      since = page.cursor;
      cursors.push(since);
    }
    const measure = async () => {
      const times: number[] = [];
      for (const since of cursors.slice(0, 100)) {
        const begun = performance.now();
        await readPage(server, { since });
        times.push(performance.now() - begun);
      }
      return median(times);
    };
    return {
      subject: { name: "POST /v1/deployment/logs", measure },
      peers: [],
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
};
