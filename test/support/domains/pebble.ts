/**
 * Pebble, the ACME authority for tests of Let's Encrypt, with its DNS server. All names resolve to this machine.
 * https://github.com/letsencrypt/pebble
 */
import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, request } from "undici";
import { freePort } from "../../../adapters/local/instances/free-port.ts";
import { signCertificate } from "../../../adapters/shared/domains/x509.ts";
import { instantOfMillis } from "../../../core/domain/wire/instant.ts";
import { eventually } from "../vitest/eventually.ts";
import type { TestResponder } from "./responder.ts";

export interface PebbleSettings {
  /** Members of Pebble's configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** The percentage of good nonces that Pebble rejects. */
  readonly badNonces?: number;
  /** The longest delay of a validation, in seconds. */
  readonly delaySeconds?: number;
  /** The DNS server of the validations, as `ADDRESS:PORT`; defaults to one that resolves all names to this machine. */
  readonly dnsServer?: string;
}

export interface Pebble extends AsyncDisposable {
  /** The URL of the directory. */
  readonly directory: string;
  /** The certificate of the authority of Pebble's own server, in PEM. */
  readonly ca: string;
  /** Sends a request to the management interface. Returns the body of the response. */
  manage(path: string, body?: unknown): Promise<string>;
  /** Ends the process. */
  stop(): Promise<void>;
}

/** A certificate for `localhost`, and its authority. */
const createServerCertificate = () => {
  const [authority, server] = [0, 1].map(() => generateKeyPairSync("ec", { namedCurve: "P-256" }));
  if (authority === undefined || server === undefined) throw new Error("no keys");
  const common = {
    issuer: "Pebble test root",
    issuerKey: authority.privateKey,
    from: instantOfMillis(Date.now() - 3_600_000),
    until: instantOfMillis(Date.now() + 86_400_000),
  };
  const ca = signCertificate({ ...common, subject: common.issuer, publicKey: authority.publicKey, hosts: [] });
  const certificate = signCertificate({ ...common, publicKey: server.publicKey, hosts: ["localhost"] });
  return { ca, certificate, key: server.privateKey.export({ type: "pkcs8", format: "pem" }).toString() };
};

const end = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await exited;
};

/** Starts Pebble, which sends its validations to the ports of the responder. */
export const startPebble = async (
  responder: Pick<TestResponder, "httpPort" | "tlsPort">,
  settings: PebbleSettings = {},
): Promise<Pebble> => {
  const folder = mkdtempSync(join(tmpdir(), "portside-pebble-"));
  const { ca, certificate, key } = createServerCertificate();
  const [port, managementPort, dnsPort] = [await freePort(), await freePort(), await freePort()];
  const at = (name: string, content: string) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const config = at(
    "config.json",
    JSON.stringify({
      pebble: {
        listenAddress: `127.0.0.1:${port}`,
        managementListenAddress: `127.0.0.1:${managementPort}`,
        certificate: at("cert.pem", certificate),
        privateKey: at("key.pem", key),
        httpPort: responder.httpPort,
        tlsPort: responder.tlsPort,
        keyAlgorithm: "ecdsa",
        retryAfter: { authz: 0, order: 0 },
        ...settings.config,
      },
    }),
  );
  const dns = spawn(
    "pebble-challtestsrv",
    [
      ...["-dnsserver", `127.0.0.1:${dnsPort}`, "-management", "127.0.0.1:0", "-defaultIPv4", "127.0.0.1"],
      ...["-defaultIPv6", "", "-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", ""],
    ],
    { stdio: "ignore" },
  );
  const pebble = spawn(
    "pebble",
    ["-config", config, "-strict", "-dnsserver", settings.dnsServer ?? `127.0.0.1:${dnsPort}`],
    {
      stdio: "ignore",
      env: {
        ...process.env,
        PEBBLE_WFE_NONCEREJECT: String(settings.badNonces ?? 0),
        PEBBLE_AUTHZREUSE: "0",
        ...(settings.delaySeconds === undefined
          ? { PEBBLE_VA_NOSLEEP: "1" }
          : { PEBBLE_VA_SLEEPTIME: String(settings.delaySeconds) }),
      },
    },
  );
  const agent = new Agent({ connect: { ca } });
  const directory = `https://localhost:${port}/dir`;
  const read = async (url: string, body?: unknown): Promise<string> => {
    const response = await request(url, {
      dispatcher: agent,
      headers: { "user-agent": "test" },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
    const text = await response.body.text();
    if (response.statusCode >= 300) throw new Error(`${url}: ${response.statusCode} ${text}`);
    return text;
  };
  const stop = async () => {
    await Promise.all([end(pebble), end(dns)]);
  };
  await eventually(() => read(directory)).catch(async (cause) => {
    await stop();
    throw cause;
  });
  return {
    directory,
    ca,
    manage: (path, body) => read(`https://localhost:${managementPort}${path}`, body),
    stop,
    [Symbol.asyncDispose]: async () => {
      await agent.close();
      await stop();
      rmSync(folder, { recursive: true });
    },
  };
};
