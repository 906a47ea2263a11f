/** What a runner means for whoever calls a service: requests a second by runner, and latency beside a greedy neighbour. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import { greedy } from "../support/greedy.ts";
import { has } from "../support/machine.ts";
import { type Bench, type Contender, notHere } from "./bench.ts";
import { canPin, installed, pin, type Server, startServer, wrk } from "./processes.ts";

const hello = `require("node:http").createServer((q, r) => r.end("hello world\\n")).listen(process.env.PORT);`;

const sourceOf = (name: string, server: string, declared: Readonly<Record<string, unknown>> = {}) => {
  const path = mkdtempSync(join(tmpdir(), "portside-bench-runners-"));
  writeFileSync(join(path, "package.json"), JSON.stringify({ scripts: { start: "node server.js" } }));
  writeFileSync(join(path, "server.js"), server);
  writeFileSync(join(path, "portside.json"), JSON.stringify({ name, volumes: {}, ...declared }));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
};

const urlOf = async (server: Server, name: string): Promise<string> => {
  const deployments = JSON.parse(await server.cli("list", "--json")) as { name: string; url: string }[];
  return deployments.find((one) => one.name === name)?.url as string;
};

const machine = [
  { runner: "bubblewrap", need: "bubblewrap" },
  { runner: "container", need: "containers" },
] as const;

export const ingressRunners: Bench = {
  name: "ingress-runners",
  question: "requests a second of a Node service through the ingress, by runner (proxy on core 0, 32 connections)",
  unit: "requests/s",
  goals: [],
  prepare: async ({ small }) => {
    if (!installed("wrk") || !canPin()) throw new Error("wrk and taskset are needed (Debian: wrk, util-linux)");
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
      missing: machine.filter((one) => !here.includes(one)).map(({ runner }) => `no ${runner} here`),
      [Symbol.asyncDispose]: async () => {
        for (const server of servers) await server[Symbol.asyncDispose]();
        source.remove();
      },
    };
  },
};

/** Longer than a revision that was replaced may go on. */
const ENDED_MS = 4000;

interface Latency {
  readonly median: number;
  readonly p95: number;
}

/** How long a service's answers take, one after the other, in milliseconds. */
const latencyOf = async (url: string, agent: Agent, requests: number): Promise<Latency> => {
  const took: number[] = [];
  for (let n = 0; n < requests; n++) {
    const begun = performance.now();
    await (await request(url, { dispatcher: agent })).body.text();
    took.push(performance.now() - begun);
    await sleep(2);
  }
  took.sort((a, b) => a - b);
  const at = (part: number) => took[Math.floor(requests * part)] as number;
  return { median: at(0.5), p95: at(0.95) };
};

/** Keeps a greedy service at its deed, whatever becomes of it. */
const keepAt = (url: string, deed: string) => {
  const stop = new AbortController();
  const run = async () => {
    while (!stop.signal.aborted) {
      await fetch(`${url}/${deed}`, { signal: AbortSignal.any([stop.signal, AbortSignal.timeout(2000)]) }).catch(
        () => {},
      );
      await sleep(100);
    }
  };
  const running = run();
  return async () => {
    stop.abort();
    await running;
  };
};

type Deed = "memory" | "forks" | "disk" | "logs";

const neighbour = ({ runner, need }: (typeof machine)[number], deed: Deed): Bench => ({
  name: `neighbour-${deed}-${runner}`,
  question: `median of a service's answers (${runner}) while a neighbour with one CPU goes beyond its ${deed}`,
  unit: "ms",
  goals: [{ peer: "alone", at: "most", bound: 2 }],
  prepare: async ({ small }) => {
    if (!has(need)) return notHere(`no ${runner} here`);
    const server = await startServer("--runner", runner, "--grace-seconds", "1", "--drain-seconds", "1");
    const [quiet, loud] = [sourceOf("quiet", hello), sourceOf("loud", greedy, { memory: "256Mi", cpu: 1 })];
    await server.cli("deploy", quiet.path);
    await server.cli("deploy", loud.path);
    const [url, greedyUrl] = [await urlOf(server, "quiet"), await urlOf(server, "loud")];
    const agent = new Agent();
    const requests = small ? 200 : 500;
    const none = { median: Number.NaN, p95: Number.NaN };
    let [besideIt, alone]: [Latency, Latency] = [none, none];
    const beside = async () => {
      const end = keepAt(greedyUrl, deed);
      await sleep(500);
      besideIt = await latencyOf(url, agent, requests);
      await end();
      // What it still does is ended, so that the next measurement is alone.
      await server.cli("deploy", loud.path);
      await sleep(ENDED_MS);
      return besideIt.median;
    };
    const measureAlone = async () => {
      alone = await latencyOf(url, agent, requests);
      return alone.median;
    };
    return {
      subject: { name: "beside it", measure: beside },
      peers: [
        { name: "alone", measure: measureAlone },
        // On two cores, with the load on one of them, mostly the scheduler's.
        { name: "beside it, 95th percentile", measure: async () => besideIt.p95 },
        { name: "alone, 95th percentile", measure: async () => alone.p95 },
      ],
      [Symbol.asyncDispose]: async () => {
        await agent.close();
        await server[Symbol.asyncDispose]();
        quiet.remove();
        loud.remove();
      },
    };
  },
});

export const neighbours: readonly Bench[] = machine.flatMap((one) =>
  (["memory", "forks", "disk", "logs"] as const).map((deed) => neighbour(one, deed)),
);
