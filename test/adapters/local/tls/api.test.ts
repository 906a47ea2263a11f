/** `portside serve` with the API and the console on the TLS port, at the domain of the platform itself. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { freePort } from "../../../../adapters/local/instances/free-port.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { startCli } from "../../../support/cli/cli-process.ts";
import { replyOf, send } from "../../../support/http/clients.ts";
import { serverOf } from "../../../support/http/serve-child.ts";
import { Client, end, serve } from "../../../support/http/served.ts";
import { createTestAuthority } from "../../../support/tls/test-authority.ts";
import { failedHandshake, sendTls, type TlsTarget } from "../../../support/tls/tls-clients.ts";
import { isAlive } from "../../../support/vitest/eventually.ts";
import { needs } from "../../../support/vitest/machine.ts";

const DOMAIN = "tls-api.example";

/** Starts a server with a certificate for the hosts. */
const start = async (
  folder: string,
  domain: string,
  hosts: readonly string[],
  options: Readonly<Record<string, string>> = {},
) => {
  const authority = createTestAuthority();
  const { chain, privateKey } = authority.issue(...hosts);
  const paths = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem"), ca: join(folder, "ca.pem") };
  writeFileSync(paths.cert, chain);
  writeFileSync(paths.key, privateKey);
  writeFileSync(paths.ca, authority.ca);
  const [tlsPort, httpPort] = [await freePort(), await freePort()];
  const served = await serve(join(folder, "data"), {
    runner: "process",
    domain,
    "tls-port": `${tlsPort}`,
    "http-port": `${httpPort}`,
    "hsts-max-age": "60",
    "tls-cert": paths.cert,
    "tls-key": paths.key,
    ...options,
  });
  const target: TlsTarget = { port: tlsPort, ca: authority.ca };
  return {
    served,
    target,
    httpPort,
    paths,
    url: `https://${domain}:${tlsPort}`,
    client: new Client(served.url, served.apiKey ?? ""),
    [Symbol.asyncDispose]: () => end(served),
  };
};

test.each(["process", "inline"])("the command line deploys over TLS (--engine %s)", async (engine) => {
  using folder = folderWith({ "app/package.json": "{}", "app/server.js": helloServer("over TLS") });
  await using one = await start(folder.path, "localhost", ["localhost", "tls-cli.localhost"], { engine });
  expect(one.served.httpsApi).toBe(one.url);
  const env = { PORTSIDE_URL: one.url, PORTSIDE_API_KEY: one.served.apiKey, NODE_EXTRA_CA_CERTS: one.paths.ca };
  const run = (...args: string[]) => startCli(args, env, folder.path).ended;
  const deployed = await run("deploy", "app", "--name", "tls-cli");
  expect([deployed.code, deployed.stdout]).toEqual([0, expect.stringContaining("https://tls-cli.localhost:")]);
  expect((await sendTls(one.target, "tls-cli.localhost")).text).toBe("over TLS");
  expect((await run("list")).stdout).toContain("tls-cli");
});

test("the connection determines the client and the scheme, and no header does", async () => {
  using folder = folderWith();
  await using one = await start(folder.path, DOMAIN, [DOMAIN]);
  const { port, ca } = one.target;
  const signIn = async (localAddress: string, forwardedFor: string, key = "psk_wrong") => {
    const forged = { "x-forwarded-for": forwardedFor, "x-forwarded-proto": "http", "x-forwarded-host": "evil.example" };
    const sent = request({
      host: "127.0.0.1",
      port,
      ca,
      servername: DOMAIN,
      localAddress,
      agent: false,
      method: "POST",
      path: "/v1/console/sign-in",
      headers: { host: `${DOMAIN}:${port}`, "content-type": "application/json", ...forged },
    });
    sent.end(JSON.stringify({ key }));
    return replyOf(((await once(sent, "response")) as [IncomingMessage])[0]);
  };
  for (let count = 0; count < 20; count++) expect((await signIn("127.0.0.1", `198.51.100.${count}`)).status).toBe(401);
  expect((await signIn("127.0.0.1", "198.51.100.99")).status).toBe(429);
  const other = await signIn("127.0.0.2", "198.51.100.0", one.served.apiKey);
  expect([other.status, other.headers["set-cookie"]?.[0]]).toEqual([200, expect.stringContaining("; Secure")]);
});

test("a session of the console never reaches a service", async (context) => {
  needs(context, "curl");
  using folder = folderWith();
  await using one = await start(folder.path, DOMAIN, [DOMAIN, `*.${DOMAIN}`]);
  const server =
    'import { createServer } from "node:http"; createServer((q, s) => s.setHeader("set-cookie", "mine=1; Path=/").end(JSON.stringify(q.headers))).listen(process.env.PORT)';
  await Array.fromAsync(one.client.deploy("tls-cookies", nodeSource(server)));
  const { port } = one.target;
  const hosts = [DOMAIN, `tls-cookies.${DOMAIN}`].flatMap((host) => ["--resolve", `${host}:${port}:127.0.0.1`]);
  const jar = join(folder.path, "jar");
  const curl = async (url: string, ...args: readonly string[]) => {
    const common = ["-sS", "--cacert", one.paths.ca, ...hosts, "-b", jar, "-c", jar, "-w", "\n%{http_code}"];
    const { stdout } = await promisify(execFile)("curl", [...common, ...args, url]);
    const [body = "", status] = stdout.split("\n");
    return { status: Number(status), body };
  };
  const signIn = (origin: string) =>
    curl(
      `${one.url}/v1/console/sign-in`,
      ...["-H", `Origin: ${origin}`, "-H", "Content-Type: application/json"],
      ...["-d", JSON.stringify({ key: one.served.apiKey })],
    );
  expect((await signIn(`https://tls-cookies.${DOMAIN}:${port}`)).status).toBe(403);
  const { status, body } = await signIn(one.url);
  expect(status).toBe(200);
  const page = ["-H", `Origin: ${one.url}`, "-H", `X-Portside-Console: ${JSON.parse(body).request_token}`];
  const list = () => curl(`${one.url}/v1/deployment/list`, ...page);
  expect((await list()).status).toBe(200);

  const service = `https://tls-cookies.${DOMAIN}:${port}/`;
  for (const cookie of [undefined, "mine=1"]) {
    const received = JSON.parse((await curl(service)).body) as Record<string, string>;
    expect([received["host"], received["cookie"]]).toEqual([`tls-cookies.${DOMAIN}:${port}`, cookie]);
  }
  expect((await list()).status).toBe(200);
});

test("only connections for the domain reach the API, and HTTP is redirected to it", async () => {
  using folder = folderWith();
  await using one = await start(folder.path, DOMAIN, [DOMAIN, `*.${DOMAIN}`]);
  const health = { path: "/health" };
  const reply = await sendTls(one.target, DOMAIN, health);
  expect([reply.status, reply.headers["strict-transport-security"]]).toEqual([200, "max-age=60"]);
  expect((await sendTls(one.target, `storage.${DOMAIN}`, { ...health, headers: { host: DOMAIN } })).status).toBe(421);
  const redirect = await send(`http://127.0.0.1:${one.httpPort}`, { path: "/console/", headers: { host: DOMAIN } });
  expect([redirect.status, redirect.headers["location"]]).toEqual([308, `${one.url}/console/`]);
});

test("the responses to invalid HTTP and to an invalid URL have the header of HSTS", async () => {
  using folder = folderWith();
  await using one = await start(folder.path, DOMAIN, [DOMAIN]);
  const { port, ca } = one.target;
  const send = async (head: string) => {
    const socket = connectTls({ host: "127.0.0.1", port, ca, servername: DOMAIN });
    socket.write(`${head}\r\n\r\n`);
    return text(socket);
  };
  const answers = [await send("not HTTP"), await send(`GET /% HTTP/1.1\r\nHost: ${DOMAIN}\r\nConnection: close`)];
  expect(answers.map((answer) => answer.split(" ")[1])).toEqual(["400", "404"]);
  for (const answer of answers) expect(answer).toContain("\r\nstrict-transport-security: max-age=60\r\n");
});

test("without a server, the API responds 503 over TLS, and then serves again", async () => {
  using folder = folderWith();
  await using one = await start(folder.path, DOMAIN, [DOMAIN]);
  const server = serverOf(one.served.child.pid as number) as number;
  process.kill(server, "SIGKILL");
  await expect.poll(() => isAlive(server)).toBe(false);
  const ask = () => sendTls(one.target, DOMAIN, { path: "/health" });
  const reply = await ask();
  expect([reply.status, reply.headers["retry-after"]]).toEqual([503, "2"]);
  expect(reply.headers["strict-transport-security"]).toBe("max-age=60");
  await expect.poll(async () => (await ask()).status).toBe(200);
});

test("with a certificate that does not contain the domain, the TLS port does not serve the API", async () => {
  using folder = folderWith();
  await using one = await start(folder.path, DOMAIN, [`*.${DOMAIN}`]);
  expect(await failedHandshake(one.target, DOMAIN)).toContain("unrecognized name");
  expect(one.served.httpsApi).toBeUndefined();
  await expect.poll(() => one.served.errors.join("\n")).toContain(`--tls-cert does not contain ${DOMAIN}.`);
});

test("--tls-host opens only the ports of HTTPS and HTTP on a different address", async () => {
  using folder = folderWith();
  await using one = await start(folder.path, DOMAIN, [DOMAIN], { "tls-host": "127.0.0.3" });
  const connects = async (host: string, port: number) => {
    const socket = connect({ host, port });
    const outcome = await once(socket, "connect").then(
      () => "open",
      ({ code }: NodeJS.ErrnoException) => code,
    );
    socket.destroy();
    return outcome;
  };
  for (const port of [one.target.port, one.httpPort])
    expect([await connects("127.0.0.3", port), await connects("127.0.0.1", port)]).toEqual(["open", "ECONNREFUSED"]);
  const api = Number(new URL(one.served.url).port);
  expect([await connects("127.0.0.3", api), await connects("127.0.0.1", api)]).toEqual(["ECONNREFUSED", "open"]);
});
