/** Clients that invent host names, and renewals while clients send requests. */
import { once } from "node:events";
import { Agent } from "node:https";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { promisify } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test, vi } from "vitest";
import type { Ingress, ListeningPort } from "../../../../adapters/local/ingress/index.ts";
import { startNamedIngress } from "../../../support/handover/named-ingress.ts";
import { createTestAuthority } from "../../../support/tls/test-authority.ts";
import { failedHandshake, handshake, helloOf, sendTls } from "../../../support/tls/tls-clients.ts";
import { testTls } from "../../../support/tls/tls-ingress.ts";

const authority = createTestAuthority();
const HOST = "app.localhost";

/** A certificate, and a function that counts the TLS servers that the ingress creates for it. */
const countedCertificate = () => {
  const certificate = authority.issue(HOST);
  const key = vi.fn(certificate.key);
  return { certificate: { ...certificate, key }, servers: () => key.mock.calls.length };
};

/** https://www.rfc-editor.org/rfc/rfc8446#section-6.2 */
const UNRECOGNIZED_NAME = 112;

test("no request fails across 50 renewals, with open and with new connections", async () => {
  const tls = testTls({ [HOST]: authority.issue(HOST) });
  await using named = await startNamedIngress("one", [], { tls: tls.config });
  const target = { port: named.ingress.tlsPort as number, ca: authority.ca };
  const stopped = new AbortController();
  let done = 0;
  const load = async (agent?: Agent) => {
    while (!stopped.signal.aborted) {
      const { status } = await sendTls(target, HOST, agent === undefined ? {} : { agent });
      expect(status).toBe(200);
      done++;
    }
  };
  const agents = Array.from({ length: 4 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  const loads = [...agents.map(load), load(), load()];
  for (let renewal = 0; renewal < 50; renewal++) {
    tls.certificates.set(HOST, authority.issue(HOST));
    const before = done;
    await expect.poll(() => done, { interval: 5 }).toBeGreaterThan(before + 6);
  }
  stopped.abort();
  await Promise.all(loads);
  for (const agent of agents) agent.destroy();
});

/** The connections that the TLS port and the HTTP port have open. */
const connectionsTo = async (ingress: Ingress): Promise<number> => {
  const isPublic = ({ use }: ListeningPort) => use.kind === "tls" || use.kind === "http" || use.kind === "shared";
  const servers = ingress.listeningPorts().flatMap((port) => (isPublic(port) ? port.servers : []));
  const counts = servers.map((server) => promisify(server.getConnections).call(server));
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
};

test("closes a refused connection although its client stays connected", async () => {
  await using named = await startNamedIngress("one", [], { tls: testTls({}).config });
  const port = named.ingress.tlsPort as number;
  const hello = await helloOf({ servername: "other.localhost" });
  // Connects first, so its time limit ends first.
  const silent = connect({ host: "127.0.0.1", port });
  await once(silent, "connect");
  const refused = [hello, Buffer.from("GET / HTTP/1.1\r\n\r\n")].map((message) => {
    const client = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
    client.write(message);
    return client;
  });
  for (const client of refused) await once(client, "data");
  await expect.poll(() => connectionsTo(named.ingress)).toBe(1);
  silent.write(hello);
  const [alert] = (await once(silent, "data")) as [Buffer];
  expect(alert.at(-1)).toBe(UNRECOGNIZED_NAME);
  for (const client of [silent, ...refused]) client.destroy();
});

test("invented host names and damaged messages create no server, and leave no connection", async () => {
  const { certificate, servers } = countedCertificate();
  const tls = testTls({ [HOST]: certificate });
  await using named = await startNamedIngress("one", [], { tls: tls.config });
  const target = { port: named.ingress.tlsPort as number, ca: authority.ca };
  await sendTls(target, HOST);
  const names = (round: number) => [
    `a${round}.example`,
    `${"b".repeat(63)}.${round}`,
    `A${round}.LOCALHOST.`,
    "..",
    "x y",
  ];
  for (let round = 0; round < 100; round++) {
    const alerts = await Promise.all(names(round).map((name) => failedHandshake(target, name)));
    for (const alert of alerts) expect(alert).toMatch(/unrecognized name|decode error|unsupported|alert/i);
  }
  const damaged = Array.from({ length: 50 }, (_, index) => {
    const socket = connect({ host: "127.0.0.1", port: target.port });
    socket.end(Buffer.from([22, 3, 1, 0, 200, 1, 0, 0, 190, index]));
    socket.resume();
    return new Promise((closed) => socket.once("close", closed));
  });
  await Promise.all(damaged);
  expect((await sendTls(target, HOST)).status).toBe(200);
  expect(servers()).toBe(1);
  await expect.poll(() => connectionsTo(named.ingress)).toBe(0);
});

test("closes connections whose clients hold them open: silent, halfway, after an alert and after a challenge", async () => {
  const tls = testTls({ [HOST]: authority.issue(HOST) });
  tls.challengeCertificates.set(HOST, authority.issue(HOST));
  await using named = await startNamedIngress("one", [], { tls: tls.config });
  const target = { port: named.ingress.tlsPort as number, ca: authority.ca };
  const hello = await helloOf({ servername: HOST });
  const unknown = await helloOf({ servername: "app.example.com" });
  const heads = [Buffer.alloc(0), hello.subarray(0, 40), hello, unknown, Buffer.from("GET / HTTP/1.1\r\n\r\n")];
  const held = heads.map((head) => {
    const socket = connect({ host: "127.0.0.1", port: target.port, allowHalfOpen: true });
    socket.on("error", () => undefined);
    socket.write(head);
    return socket.resume();
  });
  const raw = connect({ host: "127.0.0.1", port: target.port, allowHalfOpen: true });
  const validation = connectTls({ socket: raw, ca: authority.ca, servername: HOST, ALPNProtocols: ["acme-tls/1"] });
  validation.on("error", () => undefined);
  await once(validation, "secureConnect");
  await expect.poll(() => connectionsTo(named.ingress)).toBe(0);
  for (const socket of [...held, raw]) socket.destroy();
});

test("closes the connections of a client that opens too many, and admits the others", async () => {
  const tls = testTls({ [HOST]: authority.issue(HOST) }, undefined, 5);
  await using named = await startNamedIngress("one", [], { tls: tls.config });
  const target = { port: named.ingress.tlsPort as number, ca: authority.ca };
  const from = (localAddress: string) =>
    handshake(target, HOST, { localAddress }).then(
      (socket) => {
        socket.destroy();
        return "admitted";
      },
      ({ code }: NodeJS.ErrnoException) => code,
    );
  const results = await Promise.all(Array.from({ length: 40 }, () => from("127.0.0.2")));
  expect(results.filter((result) => result === "ECONNRESET").length).toBeGreaterThan(20);
  expect(await from("127.0.0.3")).toBe("admitted");
  await expect.poll(() => connectionsTo(named.ingress)).toBe(0);
});

const collectGarbage = (): number => {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  gc();
  gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

/** Names that no service has. Each one is new. */
const inventedName = (index: number): string => `${String(index).padStart(8, "0")}.${"x".repeat(60)}.example`;

test("5,000 invented names in SNI and in Host use no memory, and leave no connection", async () => {
  const { certificate, servers } = countedCertificate();
  const tls = testTls({ [HOST]: certificate });
  await using named = await startNamedIngress("one", [], { tls: tls.config });
  const { tlsPort, httpPort, port } = named.ingress;
  const target = { port: tlsPort as number, ca: authority.ca };
  const template = await helloOf({ servername: inventedName(0) });
  const at = template.indexOf(inventedName(0));
  const exchange = async (to: number, sent: Buffer | string) => {
    const socket = connect({ host: "127.0.0.1", port: to });
    socket.write(sent);
    const [answer] = (await once(socket, "data")) as [Buffer];
    socket.destroy();
    return answer;
  };
  const attack = async (index: number) => {
    const name = inventedName(index);
    const hello = Buffer.from(template);
    hello.write(name, at);
    const request = `GET /.well-known/acme-challenge/${index} HTTP/1.1\r\nHost: ${name}\r\n\r\n`;
    const answers = [
      exchange(tlsPort as number, hello),
      ...[httpPort, port].map((to) => exchange(to as number, request)),
    ];
    const [alert, ...replies] = await Promise.all(answers);
    expect(alert?.at(-1)).toBe(UNRECOGNIZED_NAME);
    for (const reply of replies) expect(String(reply)).toContain("404 Not Found");
  };
  const attackTimes = async (from: number, count: number) => {
    for (let index = from; index < from + count; index += 50)
      await Promise.all(Array.from({ length: 50 }, (_, next) => attack(index + next)));
    await expect.poll(() => connectionsTo(named.ingress)).toBe(0);
  };
  await attackTimes(0, 1000);
  const before = collectGarbage();
  await attackTimes(1000, 5000);
  // 200 bytes for each attempt would be 1 MB.
  expect(collectGarbage() - before).toBeLessThan(3 * 1_000_000);
  expect(servers()).toBe(0);
  expect((await sendTls(target, HOST)).status).toBe(200);
});
