/** How the runner affects callers of a service: requests a second, and latency next to a greedy neighbour. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import { nodeSource } from "../support/archives/archives.ts";
import { Client } from "../support/http/served.ts";
import { greedy } from "../support/sandbox/greedy.ts";
import { catastrophicLines, catastrophicPatterns } from "../support/vitest/catastrophic.ts";
import { has } from "../support/vitest/machine.ts";
import { type Bench, type Contender, skipped } from "./bench.ts";
import { canPin, installed, pin, type Server, startServer, wrk } from "./processes.ts";

export const hello = `require("node:http").createServer((q, r) => r.end("hello world\\n")).listen(process.env.PORT);`;

export const sourceOf = (name: string, server: string, declared: Readonly<Record<string, unknown>> = {}) => {
  const path = mkdtempSync(join(tmpdir(), "portside-bench-runners-"));
  writeFileSync(join(path, "package.json"), JSON.stringify({ scripts: { start: "node server.js" } }));
  writeFileSync(join(path, "server.js"), server);
  writeFileSync(join(path, "portside.json"), JSON.stringify({ name, volumes: {}, ...declared }));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
};

export const urlOf = async (server: Server, name: string): Promise<string> => {
  const deployments = JSON.parse(await server.cli("list", "--json")) as { name: string; url: string }[];
  return deployments.find((one) => one.name === name)?.url as string;
};

const machine = [
  { runner: "bubblewrap", need: "bubblewrap" },
  { runner: "container", need: "containers" },
] as const;

export const ingressRunners: Bench = {
  name: "ingress-runners",
  title: "requests a second to a Node service through the ingress, by runner (proxy on core 0, 32 connections)",
  unit: "requests/s",
  goals: [],
  prepare: async ({ small }) => {
    if (!installed("wrk") || !canPin()) throw new Error("wrk and taskset are missing (Debian: wrk, util-linux)");
    const source = sourceOf("hello", hello);
    const servers: Server[] = [];
    const contender = async (runner: string): Promise<Contender> => {
      const server = await startServer("--runner", runner, "--requests-per-minute", "1000000000");
      servers.push(server);
      await server.cli("deploy", source.path);
      const url = await urlOf(server, "hello");
      await (await fetch(url)).text();
      pin(server.pid, 0);
      return { name: runner, measure: () => wrk(url, { seconds: small ? 1 : 5, connections: 32, core: 1 }) };
    };
    const here = machine.filter(({ need }) => has(need));
    const subject = await contender("process");
    const peers: Contender[] = [];
    for (const { runner } of here) peers.push(await contender(runner));
    return {
      subject,
      peers,
      missing: machine.filter((one) => !here.includes(one)).map(({ runner }) => `${runner} is not available`),
      [Symbol.asyncDispose]: async () => {
        for (const server of servers) await server[Symbol.asyncDispose]();
        source.remove();
      },
    };
  },
};

/** Longer than the time in which a replaced revision may finish its requests. */
const ENDED_MS = 4000;

interface Latency {
  readonly median: number;
  readonly p95: number;
  readonly p99: number;
}

/** The durations of a service's responses in milliseconds, one request after the other. */
export const latencyOf = async (url: string, agent: Agent, requests: number): Promise<Latency> => {
  const took: number[] = [];
  for (let n = 0; n < requests; n++) {
    const begun = performance.now();
    await (await request(url, { dispatcher: agent })).body.text();
    took.push(performance.now() - begun);
    await sleep(2);
  }
  took.sort((a, b) => a - b);
  const at = (part: number) => took[Math.floor(requests * part)] as number;
  return { median: at(0.5), p95: at(0.95), p99: at(0.99) };
};

/** Repeats a call that may fail, until the returned function is called. */
const keepCalling = (call: (signal: AbortSignal) => Promise<unknown>) => {
  const stop = new AbortController();
  const run = async () => {
    while (!stop.signal.aborted) {
      await call(stop.signal).catch(() => {});
      await sleep(100);
    }
  };
  const running = run();
  return async () => {
    stop.abort();
    await running;
  };
};

/** Keeps calling a greedy service, even if calls fail. */
const keepAt = (url: string, resource: string) =>
  keepCalling((signal) =>
    fetch(`${url}/${resource}`, { signal: AbortSignal.any([signal, AbortSignal.timeout(2000)]) }),
  );

const RESOURCES = ["memory", "forks", "disk", "logs"] as const;

type Resource = (typeof RESOURCES)[number];

const limitOf: Readonly<Record<Resource, string>> = {
  memory: "memory limit",
  forks: "process limit",
  disk: "disk limit",
  logs: "share of the log",
};

/** Load on the machine while the service is measured. */
interface Noise {
  begin(): Promise<void>;
  /** Ends the load before the next measurement. */
  end(): Promise<void>;
  remove(): void;
}

/** Busy services with one CPU each. Each exceeds the limit of one resource, except for `cpu`. */
const greedyServices = async (
  server: Server,
  resources: readonly (Resource | "cpu")[],
  small: boolean,
): Promise<Noise> => {
  const all = resources.map((resource, index) => ({
    resource,
    name: `loud-${index}`,
    source: sourceOf(`loud-${index}`, greedy, { memory: "256Mi", cpu: 1 }),
    leave: async () => {},
  }));
  const deployAll = async () => {
    for (const { source } of all) await server.cli("deploy", source.path);
  };
  await deployAll();
  return {
    begin: async () => {
      for (const one of all) one.leave = keepAt(await urlOf(server, one.name), one.resource);
      await sleep(500);
    },
    end: async () => {
      await Promise.all(all.map(({ leave }) => leave()));
      // There is no second round, so no measurement needs idle services.
      if (small) return;
      await deployAll();
      await sleep(ENDED_MS);
    },
    remove: () => {
      for (const { source } of all) source.remove();
    },
  };
};

const noisySource = nodeSource("", {
  "package.json": JSON.stringify({ scripts: { build: "yes", start: "node server.js" } }),
});

/** A build that prints continuously until it is cancelled. */
const noisyBuild = async (server: Server): Promise<Noise> => {
  const client = new Client(server.url, server.apiKey);
  let end = async () => {};
  return {
    begin: async () => {
      const records = client.deploy("loud", noisySource);
      let deploy_id: string;
      // After this message the client receives no more output, and the build still prints.
      for (;;) {
        const { value, done } = await records.next();
        if (done) throw new Error("the build that prints continuously has ended");
        deploy_id = value.deploy_id;
        if (value.message.startsWith("The build output is too long")) break;
      }
      end = async () => {
        await client.post("/v1/deploy/cancel", { deploy_id });
        while (!(await records.next()).done);
      };
    },
    end: () => end(),
    remove: () => {},
  };
};

/** A service whose log has lines of 256 KiB, and calls of the API about that log. */
const callsAboutLogs = async (server: Server, path: string, body: unknown): Promise<Noise> => {
  const lines = catastrophicLines().map((line) => JSON.stringify(line));
  const source = sourceOf(
    "loud",
    `${hello}\nfor (const line of [${lines}]) for (let n = 0; n < 20; n++) console.log(line);`,
  );
  await server.cli("deploy", source.path);
  const headers = { "content-type": "application/json", "x-api-key": server.apiKey };
  const call = async (signal: AbortSignal) => {
    const response = await fetch(`${server.url}${path}`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
      signal,
    });
    const answer = await response.text();
    // A query may run to its time limit.
    if (!response.ok && !answer.includes("took longer than"))
      throw new Error(`${path} returned ${response.status}: ${answer}`);
  };
  await call(AbortSignal.timeout(120_000));
  let stop = async () => {};
  return {
    begin: async () => {
      stop = keepCalling(call);
      await sleep(500);
    },
    end: () => stop(),
    remove: source.remove,
  };
};

const search = {
  deployment_name: "loud",
  query: catastrophicPatterns
    .filter((pattern) => pattern.startsWith("(?i)"))
    .slice(0, 20)
    .map((pattern) => `textPayload=~${JSON.stringify(pattern)}`)
    .join(" OR "),
};

const query = {
  query:
    "SELECT COUNT(*) AS n FROM logs a CROSS JOIN logs b CROSS JOIN logs c CROSS JOIN logs d CROSS JOIN logs e CROSS JOIN logs f",
};

interface Neighbour {
  readonly name: string;
  /** The goal, as a multiple of the baseline. Defaults to 2. */
  readonly bound?: number;
  readonly does: string;
  readonly noise: (server: Server, small: boolean) => Promise<Noise>;
  /** The name of the baseline, if it is not the service without load. */
  readonly norm?: { readonly name: string; readonly noise: (server: Server, small: boolean) => Promise<Noise> };
}

const SILENCE: Noise = { begin: async () => {}, end: async () => {}, remove: () => {} };

const neighbour = (
  { runner, need }: (typeof machine)[number],
  { name, does, noise, norm, bound = 2 }: Neighbour,
): Bench => {
  const { name: normName, noise: normNoise } = norm ?? { name: "alone", noise: async () => SILENCE };
  return {
    name: `neighbour-${name}-${runner}`,
    title: `median response time of a service (${runner}) while ${does}`,
    unit: "ms",
    goals: [{ peer: normName, at: "most", bound }],
    prepare: async ({ small }) => {
      if (!has(need)) return skipped(`${runner} is not available`);
      const server = await startServer("--runner", runner, "--grace-seconds", "1", "--drain-seconds", "1");
      const quiet = sourceOf("quiet", hello);
      await server.cli("deploy", quiet.path);
      const url = await urlOf(server, "quiet");
      const [loud, normal] = [await noise(server, small), await normNoise(server, small)];
      const agent = new Agent();
      const requests = small ? 50 : 500;
      const measured: Partial<Record<"loud" | "normal", Latency>> = {};
      const measure = (which: keyof typeof measured, beside: Noise) => async () => {
        await beside.begin();
        const latency = await latencyOf(url, agent, requests);
        await beside.end();
        measured[which] = latency;
        return latency.median;
      };
      const tail = (which: keyof typeof measured, percentile: "p95" | "p99") => async () =>
        measured[which]?.[percentile] ?? Number.NaN;
      return {
        subject: { name: "with load", measure: measure("loud", loud) },
        peers: [
          { name: normName, measure: measure("normal", normal) },
          // Without goals: on two cores with the load on one of them, the scheduler causes most of the difference.
          { name: "with load, 95th percentile", measure: tail("loud", "p95") },
          { name: `${normName}, 95th percentile`, measure: tail("normal", "p95") },
          { name: "with load, 99th percentile", measure: tail("loud", "p99") },
          { name: `${normName}, 99th percentile`, measure: tail("normal", "p99") },
        ],
        [Symbol.asyncDispose]: async () => {
          await agent.close();
          await server[Symbol.asyncDispose]();
          quiet.remove();
          loud.remove();
          normal.remove();
        },
      };
    },
  };
};

const crowdSize = (small: boolean): number => (small ? 2 : 10);

const crowd: Neighbour = {
  name: "crowd",
  does: "ten neighbours with one CPU each exceed their limits (memory, processes, disk, log)",
  noise: (server, small) =>
    greedyServices(
      server,
      Array.from({ length: crowdSize(small) }, (_, index) => RESOURCES[index % RESOURCES.length] as Resource),
      small,
    ),
  // The neighbours declare ten CPUs, more than the machine has: they slow a service even within their limits.
  norm: {
    name: "next to ten busy neighbours within their limits",
    noise: (server, small) =>
      greedyServices(
        server,
        Array.from({ length: crowdSize(small) }, () => "cpu"),
        small,
      ),
  },
};

const noisyBuilder: Neighbour = {
  name: "build",
  does: "a neighbour's build prints continuously",
  noise: noisyBuild,
};

const searcher: Neighbour = {
  name: "search",
  does: "an expensive log search runs",
  noise: (server) => callsAboutLogs(server, "/v1/deployment/logs", search),
};

const querier: Neighbour = {
  name: "sql",
  does: "a SQL query runs to its time limit",
  noise: (server) => callsAboutLogs(server, "/v1/sql", query),
};

/** The last four depend on the platform more than on the runner, so they are measured with one runner only. */
export const neighbours: readonly Bench[] = machine.flatMap((one) => [
  ...RESOURCES.map((resource) =>
    neighbour(one, {
      name: resource,
      does: `a neighbour with one CPU exceeds its ${limitOf[resource]}`,
      bound: resource === "logs" ? 1.5 : 2,
      noise: (server, small) => greedyServices(server, [resource], small),
    }),
  ),
  ...(one.runner === "bubblewrap"
    ? [crowd, noisyBuilder, searcher, querier].map((other) => neighbour(one, other))
    : []),
]);
