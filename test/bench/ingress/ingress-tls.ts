/** Requests and new connections a second over TLS, compared with nginx: same certificate, ciphers and upstream. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../../adapters/local/instances/free-port.ts";
import { handshakeSettings } from "../../../adapters/local/tls/certificates.ts";
import { startOnFreePort } from "../../support/http/free-port.ts";
import { createTestAuthority } from "../../support/tls/test-authority.ts";
import type { Bench } from "../bench.ts";
import { canPin, installed, instancesOf, killOnExit, pin, programPath, startServer, stop, wrk } from "../processes.ts";
import { upstreamSource } from "./ingress.ts";

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
  return { child, tlsPort };
};

interface Load {
  readonly name: string;
  readonly title: string;
  readonly bound: number;
  /** Additional header of each request. */
  readonly header?: string;
}

const benchOf = ({ name, title, bound, header }: Load): Bench => ({
  name,
  title: `${title} (proxy on core 0, load and upstream on core 1, 32 connections)`,
  unit: "requests/s",
  goals: [{ peer: "nginx", at: "least", bound }],
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
      "--domain",
      DOMAIN,
      "--tls-port",
      "0",
      "--tls-connections-per-second",
      "0",
      "--tls-cert",
      files.cert,
      "--tls-key",
      files.key,
    ];
    const server = await startServer("--runner", "process", "--requests-per-minute", "1000000000", ...tls);
    await server.cli("deploy", source, "--name", "upstream");
    const [deployed] = JSON.parse(await server.cli("list", "--json")) as [{ url: string }];
    const { port: tlsPort, hostname } = new URL(deployed.url);
    pin(server.pid, 0);
    const instances = instancesOf(server);
    for (const { pid } of instances) pin(pid, 1);
    const nginx = await startNginx(folder, (instances[0] as { port: number }).port, files);
    const options = { seconds: small ? 1 : 5, connections: 32, core: 1 };
    const headers = header === undefined ? [] : [header];
    // wrk sends the host name as SNI. Portside refuses a handshake for any other name.
    const load = (port: number | string) => () => wrk(`https://${hostname}:${port}/`, { ...options, headers });
    return {
      subject: { name: "portside", measure: load(tlsPort) },
      peers: [{ name: "nginx", measure: load(nginx.tlsPort) }],
      [Symbol.asyncDispose]: async () => {
        await stop(nginx.child);
        await server[Symbol.asyncDispose]();
        rmSync(folder, { recursive: true });
      },
    };
  },
});

export const ingressTls: readonly Bench[] = [
  benchOf({ name: "ingress-tls", title: "requests a second over TLS through the ingress", bound: 0.35 }),
  benchOf({
    name: "ingress-tls-handshakes",
    title: "new TLS connections a second to the ingress, with one request each",
    bound: 0.5,
    header: "Connection: close",
  }),
];
