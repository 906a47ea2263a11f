/** Requests, handshakes and new connections over TLS, compared with nginx: same certificate, ciphers and upstream. */
import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "../../../adapters/local/instances/free-port.ts";
import { allProcesses, treeOf } from "../../../adapters/local/instances/proc.ts";
import { handshakeSettings } from "../../../adapters/local/tls/certificates.ts";
import { startOnFreePort } from "../../support/http/free-port.ts";
import { createTestAuthority } from "../../support/tls/test-authority.ts";
import type { Bench } from "../bench.ts";
import {
  canPin,
  cpuMicrosOf,
  installed,
  instancesOf,
  killOnExit,
  pin,
  programPath,
  startServer,
  stop,
  wrk,
} from "../processes.ts";
import { upstreamSource } from "./ingress.ts";

const run = promisify(execFile);

export const DOMAIN = "bench.example";

interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

export const writeCertificate = (folder: string): CertificateFiles => {
  const { chain, privateKey } = createTestAuthority().issue(`*.${DOMAIN}`);
  const files = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") };
  writeFileSync(files.cert, chain);
  writeFileSync(files.key, privateKey);
  return files;
};

const startNginx = async (folder: string, upstream: number, { cert, key }: CertificateFiles) => {
  const { ciphers, ecdhCurve } = handshakeSettings;
  const suites = ciphers.split(":").filter((suite) => !suite.startsWith("TLS_"));
  const tlsPort = await freePort();
  const { child } = await startOnFreePort((port) => {
    const config = join(folder, "tls.conf");
    writeFileSync(
      config,
      `daemon off; pid ${folder}/nginx.pid; error_log /dev/null; worker_processes 1; events { worker_connections 1024; }
http { access_log off; keepalive_requests 1000000000; upstream u { server 127.0.0.1:${upstream}; keepalive 64; keepalive_requests 1000000000; }
ssl_certificate ${cert}; ssl_certificate_key ${key}; ssl_protocols TLSv1.2 TLSv1.3; ssl_ciphers ${suites.join(":")}; ssl_ecdh_curve ${ecdhCurve};
server { listen 127.0.0.1:${port}; listen 127.0.0.1:${tlsPort} ssl; location / { proxy_pass http://u; proxy_http_version 1.1; proxy_set_header Connection ""; } } }`,
    );
    return killOnExit(spawn("taskset", ["-c", "0", "nginx", "-c", config, "-p", folder], { stdio: "ignore" }));
  }, "/");
  return { child, pids: treeOf(child.pid as number, allProcesses()), port: tlsPort };
};

/** An ingress under test. */
interface Ingress {
  readonly pids: readonly number[];
  readonly hostname: string;
  readonly port: number;
}

interface TlsBench extends Pick<Bench, "name" | "title" | "unit"> {
  /** The least ratio to nginx; undefined if there is no goal. */
  readonly bound?: number;
  readonly measure: (ingress: Ingress, seconds: number) => Promise<number>;
}

const CONNECTIONS = 32;

const benchOf = ({ name, title, unit, bound, measure }: TlsBench): Bench => ({
  name,
  title: `${title} (proxy on core 0, load and upstream on core 1, ${CONNECTIONS} connections)`,
  unit,
  goals: bound === undefined ? [] : [{ peer: "nginx", at: "least", bound }],
  prepare: async ({ small }) => {
    const program = programPath("nginx");
    if (!installed("wrk") || !canPin() || program === undefined)
      throw new Error("wrk, taskset and nginx are missing (Debian: wrk, util-linux, nginx)");
    const folder = mkdtempSync(join(tmpdir(), "portside-bench-tls-"));
    const source = join(folder, "source");
    mkdirSync(source);
    upstreamSource(source, program);
    const files = writeCertificate(folder);
    const tls = [
      ...["--domain", DOMAIN, "--tls-port", "0", "--tls-connections-per-second", "0"],
      ...["--tls-cert", files.cert, "--tls-key", files.key],
    ];
    const server = await startServer("--runner", "process", "--requests-per-minute", "1000000000", ...tls);
    await server.cli("deploy", source, "--name", "upstream");
    const [deployed] = JSON.parse(await server.cli("list", "--json")) as [{ url: string }];
    const { port, hostname } = new URL(deployed.url);
    pin(server.pid, 0);
    const instances = instancesOf(server);
    for (const { pid } of instances) pin(pid, 1);
    const nginx = await startNginx(folder, (instances[0] as { port: number }).port, files);
    const seconds = small ? 1 : 5;
    const contender = (of: "portside" | "nginx", ingress: Omit<Ingress, "hostname">) => ({
      name: of,
      measure: () => measure({ ...ingress, hostname }, seconds),
    });
    return {
      subject: contender("portside", { pids: [server.pid], port: Number(port) }),
      peers: [contender("nginx", nginx)],
      [Symbol.asyncDispose]: async () => {
        await stop(nginx.child);
        await server[Symbol.asyncDispose]();
        rmSync(folder, { recursive: true });
      },
    };
  },
});

/** wrk sends the host name as SNI. Portside refuses a handshake for any other name. */
const wrkLoad =
  (...headers: readonly string[]): TlsBench["measure"] =>
  ({ hostname, port }, seconds) =>
    wrk(`https://${hostname}:${port}/`, { seconds, connections: CONNECTIONS, core: 1, headers });

/**
 * Handshakes per second of the ingress's CPU time. A client needs more CPU for a handshake than nginx, so handshakes per
 * second would measure the client.
 */
const handshakesPerCpuSecond: TlsBench["measure"] = async ({ pids, hostname, port }, seconds) => {
  const before = cpuMicrosOf(pids);
  const client = ["test/bench/peers/tls-handshakes.ts", `${port}`, hostname, `${seconds}`, `${CONNECTIONS}`];
  const { stdout } = await run("taskset", ["-c", "1", process.execPath, ...client]);
  return (Number(stdout) * 1_000_000) / (cpuMicrosOf(pids) - before);
};

export const ingressTls: readonly Bench[] = [
  benchOf({
    name: "ingress-tls",
    title: "requests a second over TLS through the ingress",
    unit: "requests/s",
    bound: 0.35,
    measure: wrkLoad(),
  }),
  benchOf({
    name: "ingress-tls-handshakes",
    title: "full TLS handshakes per second of the ingress's CPU time, without requests",
    unit: "handshakes/s",
    bound: 0.5,
    measure: handshakesPerCpuSecond,
  }),
  benchOf({
    name: "ingress-tls-connections",
    title: "new TLS connections a second to the ingress, with one request each",
    unit: "requests/s",
    measure: wrkLoad("Connection: close"),
  }),
];
