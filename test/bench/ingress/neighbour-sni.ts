/** Response times over TLS, and the engine's memory, while clients ask for host names that do not exist. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import { freePort } from "../../../adapters/local/instances/free-port.ts";
import type { Bench } from "../bench.ts";
import { canPin, killOnExit, pin, residentMegabytes, type Server, startServer } from "../processes.ts";
import { hello, latencyOf, sourceOf, urlOf } from "../runners.ts";
import { DOMAIN, writeCertificate } from "./ingress-tls.ts";

/** Clients that ask for names below `suffix`. */
interface Attack {
  readonly suffix: string;
  /** The number of addresses from which the clients connect. */
  readonly addresses: number;
}

/** Enough addresses that the limit for each of them refuses no connection. */
const unknownNames: Attack = { suffix: "unknown.example", addresses: 50 };
/** The wildcard certificate covers these names, so each one costs a handshake. */
const coveredNames: Attack = { suffix: DOMAIN, addresses: 1 };

const startAttack = async (tlsPort: number, httpPort: number, { suffix, addresses }: Attack) => {
  const script = "test/bench/peers/hostile-names.ts";
  const args = [script, `${tlsPort}`, `${httpPort}`, suffix, `${addresses}`];
  const child = killOnExit(spawn("taskset", ["-c", "1", process.execPath, ...args], { stdio: "inherit" }));
  // The first connections also load code.
  await sleep(2000);
  return async () => {
    const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    if ((await ended) !== 0)
      console.error("The clients did not reach 1,000 connections a second. Use a faster machine.");
  };
};

interface Platform extends AsyncDisposable {
  readonly server: Server;
  readonly url: string;
  readonly agent: Agent;
  attack(attack: Attack): Promise<() => Promise<void>>;
}

const startPlatform = async (): Promise<Platform> => {
  if (!canPin()) throw new Error("taskset is missing (Debian: util-linux)");
  const folder = mkdtempSync(join(tmpdir(), "portside-bench-sni-"));
  const { cert, key } = writeCertificate(folder);
  const httpPort = await freePort();
  const server = await startServer(
    ...["--runner", "process", "--requests-per-minute", "1000000000", "--domain", DOMAIN],
    ...["--tls-port", "0", "--http-port", `${httpPort}`, "--tls-cert", cert, "--tls-key", key],
  );
  const source = sourceOf("quiet", hello);
  await server.cli("deploy", source.path);
  const url = await urlOf(server, "quiet");
  pin(server.pid, 0);
  const agent = new Agent({
    connect: {
      rejectUnauthorized: false,
      lookup: (_host, _options, done) => done(null, [{ address: "127.0.0.1", family: 4 }]),
    },
  });
  return {
    ...{ server, url, agent },
    attack: (attack) => startAttack(Number(new URL(url).port), httpPort, attack),
    [Symbol.asyncDispose]: async () => {
      await agent.close();
      await server[Symbol.asyncDispose]();
      source.remove();
      rmSync(folder, { recursive: true });
    },
  };
};

const latencyBench = (name: string, title: string, attack: Attack): Bench => ({
  name,
  title: `99th percentile of a service's response times over TLS while ${title}`,
  unit: "ms",
  goals: [{ peer: "alone", at: "most", bound: 1.5 }],
  prepare: async ({ small }) => {
    const platform = await startPlatform();
    const { url, agent } = platform;
    const requests = small ? 100 : 1000;
    const medians = { loud: Number.NaN, alone: Number.NaN };
    const measure = async (which: keyof typeof medians) => {
      const { median, p99 } = await latencyOf(url, agent, requests);
      medians[which] = median;
      return p99;
    };
    return {
      subject: {
        name: "with load",
        measure: async () => {
          const end = await platform.attack(attack);
          const p99 = await measure("loud");
          await end();
          return p99;
        },
      },
      peers: [
        { name: "alone", measure: () => measure("alone") },
        { name: "with load, median", measure: async () => medians.loud },
        { name: "alone, median", measure: async () => medians.alone },
      ],
      [Symbol.asyncDispose]: () => platform[Symbol.asyncDispose](),
    };
  },
});

/** Seconds of load before the memory is measured. */
const SECONDS = 30;

const memoryBench: Bench = {
  name: "neighbour-sni-memory",
  title: `memory of the engine after ${SECONDS} s of 1,000 unknown host names a second over TLS and over HTTP`,
  unit: "MB",
  goals: [{ peer: "before", at: "most", bound: 1.1 }],
  prepare: async ({ small }) => {
    const platform = await startPlatform();
    let before = Number.NaN;
    return {
      subject: {
        name: "after",
        measure: async () => {
          before = residentMegabytes(platform.server.pid);
          const end = await platform.attack(unknownNames);
          await sleep((small ? 2 : SECONDS) * 1000);
          await end();
          return residentMegabytes(platform.server.pid);
        },
      },
      peers: [{ name: "before", measure: async () => before }],
      [Symbol.asyncDispose]: () => platform[Symbol.asyncDispose](),
    };
  },
};

export const hostileNames: readonly Bench[] = [
  latencyBench(
    "neighbour-sni",
    "clients ask for 1,000 unknown host names a second over TLS and over HTTP",
    unknownNames,
  ),
  latencyBench(
    "neighbour-sni-covered",
    "a client asks for 1,000 unused host names a second that the certificate covers",
    coveredNames,
  ),
  memoryBench,
];
