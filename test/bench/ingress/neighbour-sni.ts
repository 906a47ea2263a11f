/** Response times over TLS, and the engine's use of resources, while clients ask for host names that do not exist. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent } from "undici";
import { freePort } from "../../../adapters/local/instances/free-port.ts";
import { allProcesses, treeOf } from "../../../adapters/local/instances/proc.ts";
import { startOnFreePort } from "../../support/http/free-port.ts";
import type { Bench } from "../bench.ts";
import {
  canPin,
  cpuMicrosOf,
  installed,
  killOnExit,
  pin,
  residentMegabytes,
  type Server,
  startServer,
  stop,
} from "../processes.ts";
import { hello, latencyOf, sourceOf, urlOf } from "../runners.ts";
import { DOMAIN, writeCertificate } from "./ingress-tls.ts";

/** Clients that ask for names below `suffix`. */
interface Attack {
  readonly suffix: string;
  /** The number of addresses from which the clients connect over TLS. */
  readonly addresses: number;
}

/** Enough addresses that the limit for each of them refuses no connection. */
const unknownNames: Attack = { suffix: "unknown.example", addresses: 50 };
/** The wildcard certificate covers these names, so each one costs a handshake. */
const coveredNames: Attack = { suffix: DOMAIN, addresses: 1 };

/** The ports to which the clients connect, and the processes that accept these connections. */
interface Target {
  readonly pids: readonly number[];
  readonly tlsPort: number;
  readonly httpPort: number;
}

/** Connections a second to each port. */
const RATE = 1000;

/**
 * Starts the clients, and waits until both ports answer. Returns a function that ends the clients, and returns the
 * number of connections that were answered.
 */
const startAttack = async ({ tlsPort, httpPort }: Omit<Target, "pids">, { suffix, addresses }: Attack) => {
  const script = "test/bench/peers/hostile-names.ts";
  const args = [script, `${tlsPort}`, `${httpPort}`, suffix, `${addresses}`];
  // The clients get only the time that the measured client and service leave idle on their core.
  const child = killOnExit(
    spawn("taskset", ["-c", "1", "chrt", "--idle", "0", process.execPath, ...args], {
      stdio: ["ignore", "pipe", "inherit"],
    }),
  );
  const lines = createInterface({ input: child.stdout as Readable })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done) throw new Error("the clients ended");
    return value;
  };
  await next();
  return async (): Promise<number> => {
    child.kill("SIGTERM");
    const { seconds, answered } = JSON.parse(await next()) as { seconds: number; answered: number[] };
    const least = Math.min(...answered);
    if (least < 0.9 * RATE * seconds)
      console.error(`The clients made ${Math.round(least / seconds)} of ${RATE} connections a second.`);
    return answered.reduce((sum, count) => sum + count);
  };
};

/** nginx on the engine's core. It refuses every host name. */
const startNginx = async (folder: string) => {
  const tlsPort = await freePort();
  const { child, url } = await startOnFreePort((port) => {
    const config = join(folder, "refuse.conf");
    writeFileSync(
      config,
      `daemon off; pid ${folder}/nginx.pid; error_log /dev/null; worker_processes 1; events { worker_connections 1024; }
http { access_log off; ssl_protocols TLSv1.2 TLSv1.3;
server { listen 127.0.0.1:${port} default_server; location / { return 404; } location = /ready { return 204; } }
server { listen 127.0.0.1:${tlsPort} ssl default_server; ssl_reject_handshake on; } }`,
    );
    return killOnExit(spawn("taskset", ["-c", "0", "nginx", "-c", config, "-p", folder], { stdio: "ignore" }));
  }, "/ready");
  const pids = treeOf(child.pid as number, allProcesses());
  return { child, target: { pids, tlsPort, httpPort: Number(new URL(url).port) } };
};

interface Platform extends AsyncDisposable {
  readonly server: Server;
  readonly url: string;
  readonly agent: Agent;
  readonly portside: Target;
  readonly nginx: Target;
}

const startPlatform = async (): Promise<Platform> => {
  if (!canPin() || !installed("nginx")) throw new Error("taskset and nginx are missing (Debian: util-linux, nginx)");
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
  const nginx = await startNginx(folder);
  const agent = new Agent({
    connect: {
      rejectUnauthorized: false,
      lookup: (_host, _options, done) => done(null, [{ address: "127.0.0.1", family: 4 }]),
    },
  });
  return {
    server,
    url,
    agent,
    portside: { pids: [server.pid], tlsPort: Number(new URL(url).port), httpPort },
    nginx: nginx.target,
    [Symbol.asyncDispose]: async () => {
      await agent.close();
      await stop(nginx.child);
      await server[Symbol.asyncDispose]();
      source.remove();
      rmSync(folder, { recursive: true });
    },
  };
};

/** The service's response times while the clients connect to Portside, while they connect to nginx, and without them. */
const SITUATIONS = ["with load", "clients at nginx", "alone"] as const;

type Situation = (typeof SITUATIONS)[number];

const latencyBench = (name: string, title: string, attack: Attack): Bench => ({
  name,
  title: `99th percentile of a service's response times over TLS while ${title}`,
  unit: "ms",
  // The clients use a core that the service and the measured client need, so the norm contains the same clients.
  goals: [{ peer: "clients at nginx", at: "most", bound: 1.5 }],
  prepare: async ({ small }) => {
    const platform = await startPlatform();
    const { url, agent, portside, nginx } = platform;
    const requests = small ? 100 : 1000;
    const targets: Record<Situation, Target | undefined> = {
      "with load": portside,
      "clients at nginx": nginx,
      alone: undefined,
    };
    const medians = new Map<Situation, number>();
    const contender = (situation: Situation) => ({
      name: situation,
      measure: async () => {
        const target = targets[situation];
        const end = target === undefined ? undefined : await startAttack(target, attack);
        // The first connections also load code.
        if (end !== undefined) await sleep(small ? 200 : 2000);
        const { median, p99 } = await latencyOf(url, agent, requests);
        await end?.();
        medians.set(situation, median);
        return p99;
      },
    });
    const medianOf = (situation: Situation) => ({
      name: `${situation}, median`,
      measure: async () => medians.get(situation) ?? Number.NaN,
    });
    const [subject, ...norms] = SITUATIONS;
    return {
      subject: contender(subject),
      peers: [...norms.map(contender), ...SITUATIONS.map(medianOf)],
      [Symbol.asyncDispose]: () => platform[Symbol.asyncDispose](),
    };
  },
});

const cpuBench: Bench = {
  name: "neighbour-sni-cpu",
  title: "CPU time that a TLS connection for an unknown host name takes",
  unit: "µs",
  goals: [],
  prepare: async ({ small }) => {
    const platform = await startPlatform();
    const contender = (name: "portside" | "nginx") => ({
      name,
      measure: async () => {
        const { pids, tlsPort } = platform[name];
        const before = cpuMicrosOf(pids);
        const end = await startAttack({ tlsPort, httpPort: 0 }, unknownNames);
        await sleep(small ? 500 : 5000);
        const answered = await end();
        return (cpuMicrosOf(pids) - before) / answered;
      },
    });
    return {
      subject: contender("portside"),
      peers: [contender("nginx")],
      [Symbol.asyncDispose]: () => platform[Symbol.asyncDispose](),
    };
  },
};

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
          const end = await startAttack(platform.portside, unknownNames);
          await sleep((small ? 1 : SECONDS) * 1000);
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
  cpuBench,
  memoryBench,
];
