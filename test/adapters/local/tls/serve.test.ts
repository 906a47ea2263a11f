/** `portside serve` with TLS: the deployment's URL, requests by curl and Node, and an upgrade. */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { freePort } from "../../../../adapters/local/instances/free-port.ts";
import { KEY_CHECK, keyPathOf, loadCipher } from "../../../../adapters/local/secrets/key-file.ts";
import { CertificateRows } from "../../../../adapters/local/state/certificates.ts";
import { openState } from "../../../../adapters/local/state/database.ts";
import { DomainRows } from "../../../../adapters/local/state/domains.ts";
import { SettingRows } from "../../../../adapters/local/state/settings.ts";
import { createSystemClock } from "../../../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { DomainName } from "../../../../core/domain/domains/domain-name.ts";
import { timestampOf } from "../../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { startCli } from "../../../support/cli/cli-process.ts";
import { send } from "../../../support/http/clients.ts";
import { Client, end, serve } from "../../../support/http/served.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";
import { createTestAuthority, type TestCertificate } from "../../../support/tls/test-authority.ts";
import { failedHandshake, sendTls } from "../../../support/tls/tls-clients.ts";
import { needs } from "../../../support/vitest/machine.ts";

const DOMAIN = "tls-serve.example";

const filesIn = (folder: string) => {
  const authority = createTestAuthority();
  const { chain, privateKey } = authority.issue(`*.${DOMAIN}`);
  const files = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem"), ca: join(folder, "ca.pem") };
  writeFileSync(files.cert, chain);
  writeFileSync(files.key, privateKey);
  writeFileSync(files.ca, authority.ca);
  return { ...authority, files };
};

test("a deployment is reachable at the HTTPS URL that it reports", async (context) => {
  needs(context, "curl");
  using folder = folderWith();
  const { ca, files } = filesIn(folder.path);
  const ingressPort = await freePort();
  const served = await serve(folder.path, {
    "ingress-port": `${ingressPort}`,
    runner: "process",
    domain: DOMAIN,
    "tls-port": "0",
    "http-port": "0",
    "tls-cert": files.cert,
    "tls-key": files.key,
  });
  try {
    const client = new Client(served.url, served.apiKey ?? "");
    const server =
      'import { createServer } from "node:http"; createServer((q, s) => s.end(q.headers["x-forwarded-proto"])).listen(process.env.PORT)';
    const records = await Array.fromAsync(client.deploy("tls-web", nodeSource(server)));
    const url = new URL(records.at(-1)?.url as string);
    expect([url.protocol, url.hostname]).toEqual(["https:", `tls-web.${DOMAIN}`]);
    const target = { port: Number(url.port), ca };
    const spoofed = (scheme: string) => ({ headers: { host: url.hostname, "x-forwarded-proto": scheme } });
    expect((await sendTls(target, url.hostname, spoofed("http"))).text).toBe("https");
    expect((await send(`http://127.0.0.1:${ingressPort}`, spoofed("https"))).text).toBe("http");
    const resolve = `${url.hostname}:${url.port}:127.0.0.1`;
    const { stdout } = await promisify(execFile)("curl", ["-sS", "--cacert", files.ca, "--resolve", resolve, url.href]);
    expect(stdout).toBe("https");
  } finally {
    await end(served);
  }
});

/** Stores what the server stores for a custom domain with a certificate and a pending validation. */
const storeDomain = (dataDir: string, domain: DomainName, name: string, { chain, privateKey }: TestCertificate) => {
  using db = openState(dataDir, { acceptState: false, logger: silentLogger });
  const cipher = loadCipher(keyPathOf(dataDir, undefined), new SettingRows(db).get(KEY_CHECK));
  const at = timestampOf(createSystemClock().now());
  const owner = "default" as AccountId;
  const times = { createdAt: at, checkedAt: at };
  new DomainRows(db).put(
    { domain, owner, name: name as DeploymentName, status: "active", detail: "", ...times },
    "etag",
  );
  const rows = new CertificateRows(db);
  rows.change(domain, { chain, key: cipher.sealPrivateKey({ kind: "host", name: domain }, privateKey) });
  rows.publish({ type: "http-01", host: domain, token: "token", keyAuthorization: "token.key" });
};

test("the engine serves custom domains, certificates and validations that the state contains", async () => {
  using folder = folderWith();
  const authority = createTestAuthority();
  const httpPort = await freePort();
  const tlsPort = await freePort();
  const served = await serve(folder.path, {
    runner: "process",
    "tls-port": `${tlsPort}`,
    "http-port": `${httpPort}`,
  });
  try {
    const client = new Client(served.url, served.apiKey ?? "");
    await Array.fromAsync(client.deploy("tls-own", nodeSource(helloServer("own"))));
    const domain = "tls-own.example.org" as DomainName;
    storeDomain(folder.path, domain, "tls-own", authority.issue(domain));
    const ask = () =>
      send(`http://127.0.0.1:${httpPort}`, {
        path: "/.well-known/acme-challenge/token",
        headers: { host: domain },
      });
    await expect.poll(async () => (await ask()).text).toBe("token.key");
    const target = { port: tlsPort, ca: authority.ca };
    expect((await sendTls(target, domain)).text).toBe("own");
    expect(await failedHandshake(target, "tls-own.localhost")).toContain("unrecognized name");
  } finally {
    await end(served);
  }
});

test.each([
  [
    ["--tls-port", "0", "--tls-cert", "missing.pem", "--tls-key", "missing.pem"],
    "--tls-cert missing.pem cannot be read",
  ],
  [["--tls-port", "0", "--tls-cert", "missing.pem"], "--tls-key must be set if --tls-cert is set."],
  [["--http-port", "0"], "--tls-port must be set if --http-port is set."],
  [["--acme-email", "ops@example.com"], "--tls-port must be set if --acme-email is set."],
])("serve %j fails with an explanation", async (flags, message) => {
  using folder = folderWith();
  const { code, stderr } = await startCli(
    ["serve", "--data-dir", folder.path, "--port", "0", "--ingress-port", "0", ...flags],
    process.env,
    folder.path,
  ).ended;
  expect(code).not.toBe(0);
  expect(stderr).toContain(message);
});
