/** The TLS port with real clients: certificates by host name, protocols, drains and challenges. */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { ClientHttp2Session, OutgoingHttpHeaders } from "node:http2";
import { Agent } from "node:https";
import type { TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import WebSocket from "ws";
import { startNamedIngress } from "../../../support/handover/named-ingress.ts";
import { createTestAuthority } from "../../../support/tls/test-authority.ts";
import { failedHandshake, handshake, openTlsSession, sendOver, sendTls } from "../../../support/tls/tls-clients.ts";
import { testTls } from "../../../support/tls/tls-ingress.ts";

const LONG_MS = 600_000;

const authority = createTestAuthority();
const { ca } = authority;

const start = async (
  tls = testTls({
    "app.localhost": authority.issue("app.localhost"),
    "rpc.localhost": authority.issue("rpc.localhost", "app.localhost", "none.localhost"),
  }),
) => {
  const named = await startNamedIngress("one", [], { tls: tls.config });
  return { ...named, tls, target: { port: named.ingress.tlsPort as number, ca } };
};

const subjectOf = async (target: { port: number; ca: string }, host: string) => {
  const socket = await handshake(target, host);
  const { subjectaltname } = socket.getPeerCertificate();
  socket.destroy();
  return subjectaltname;
};

test("serves HTTP/1.1, and tells the service that the client used HTTPS", async () => {
  await using one = await start();
  const reply = await sendTls(one.target, "app.localhost", { method: "POST", body: "12345" });
  expect([reply.status, reply.text]).toEqual([200, "one 5"]);
  expect(reply.headers["strict-transport-security"]).toBe("max-age=60");
});

/** Opens a WebSocket over TLS. The types of `ws` do not name the options of `tls.connect`, which it passes on. */
const webSocket = (port: number, servername: string, host = servername): WebSocket => {
  const tls = { ca, servername };
  return new WebSocket(`wss://127.0.0.1:${port}`, { ...tls, headers: { host } });
};

test("carries WebSockets", async () => {
  await using one = await start();
  const socket = webSocket(one.target.port, "app.localhost");
  const [answer] = (await once(socket, "upgrade")) as [IncomingMessage];
  expect(answer.headers["strict-transport-security"]).toBe("max-age=60");
  if (socket.readyState !== WebSocket.OPEN) await once(socket, "open");
  socket.send("hello");
  expect(String((await once(socket, "message"))[0])).toBe("one hello");
  socket.terminate();
});

test("offers HTTP/2 for services that speak it, and HTTP/1.1 for the others", async () => {
  await using one = await start();
  const both = { ALPNProtocols: ["h2", "http/1.1"] };
  expect((await handshake(one.target, "rpc.localhost", both)).alpnProtocol).toBe("h2");
  expect((await handshake(one.target, "app.localhost", both)).alpnProtocol).toBe("http/1.1");
  expect(await failedHandshake(one.target, "app.localhost", { ALPNProtocols: ["h2"] })).toContain(
    "no application protocol",
  );
});

test("refuses an upgrade whose target is not a path", async () => {
  await using one = await start();
  for (const target of ["*", "http://app.localhost/_portside/x"]) {
    const socket = await handshake(one.target, "app.localhost");
    const lines = [`GET ${target} HTTP/1.1`, "Host: app.localhost", "Connection: Upgrade", "Upgrade: websocket"];
    const key = ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="];
    socket.write(`${[...lines, ...key].join("\r\n")}\r\n\r\n`);
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(String(answer)).toMatch(/^HTTP\/1\.1 400 /);
    socket.destroy();
  }
});

const statusAndHsts = async (session: ClientHttp2Session, sent: OutgoingHttpHeaders) => {
  const { status, headers } = await sendOver(session, sent);
  return [status, headers["strict-transport-security"]];
};

test("sends HSTS with the refusal of an upgrade", async () => {
  await using one = await start();
  for (const [servername, host, status] of [
    ["rpc.localhost", "none.localhost", 404],
    ["app.localhost", "rpc.localhost", 421],
  ] as const) {
    const socket = webSocket(one.target.port, servername, host);
    socket.on("error", () => undefined);
    const [, answer] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
    expect([answer.statusCode, answer.headers["strict-transport-security"]]).toEqual([status, "max-age=60"]);
    socket.terminate();
  }
});

test("answers 421 to a request over HTTP/1.1 for a host that the certificate of the connection does not contain", async () => {
  await using one = await start();
  const statusOf = async (servername: string, host: string) =>
    (await sendTls(one.target, servername, { headers: { host } })).status;
  expect(await statusOf("app.localhost", "rpc.localhost")).toBe(421);
  expect(await statusOf("rpc.localhost", "App.localhost.:443")).toBe(200);
  expect(await statusOf("app.localhost", "APP.localhost")).toBe(200);
});

test("serves any host to a client that sends no host name in the handshake, such as nginx as a proxy", async () => {
  const tls = testTls({}, authority.issue("apps.localhost"));
  await using one = await start(tls);
  const socket = await handshake(one.target, "", { rejectUnauthorized: false });
  socket.write("GET / HTTP/1.1\r\nHost: app.localhost\r\n\r\n");
  expect(String((await once(socket, "data"))[0])).toMatch(/^HTTP\/1\.1 200 /);
  socket.destroy();
});

test("passes connections for the API's host on, and answers 421 to its host on other connections", async () => {
  const tls = testTls({
    "apps.localhost": authority.issue("apps.localhost"),
    "rpc.localhost": authority.issue("rpc.localhost", "apps.localhost"),
  });
  const passed: unknown[] = [];
  const onConnection = (socket: TLSSocket) => {
    passed.push(socket.servername);
    socket.end("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nAPI");
  };
  const config = { ...tls.config, api: { host: "apps.localhost", onConnection } };
  await using one = await start({ ...tls, config });
  expect((await sendTls(one.target, "apps.localhost", { headers: { host: "rpc.localhost" } })).text).toBe("API");
  const offered = await handshake(one.target, "apps.localhost", { ALPNProtocols: ["h2", "http/1.1"] });
  expect(offered.alpnProtocol).toBe("http/1.1");
  expect(String((await once(offered, "data"))[0])).toMatch(/API$/);
  offered.destroy();
  const misdirected = await sendTls(one.target, "rpc.localhost", { headers: { host: "Apps.localhost.:443" } });
  expect([misdirected.status, misdirected.headers["strict-transport-security"]]).toEqual([421, "max-age=60"]);
  const session = await openTlsSession(one.target, "rpc.localhost");
  expect(await statusAndHsts(session, { ":path": "/", ":authority": "apps.localhost" })).toEqual([421, "max-age=60"]);
  session.destroy();
  expect(passed).toEqual(["apps.localhost", "apps.localhost"]);
});

test("answers 421 to a request over HTTP/2 for a host that the connection cannot serve", async () => {
  await using one = await start();
  const session = await openTlsSession(one.target, "rpc.localhost");
  const reply = await sendOver(session, { ":path": "/", ":authority": "rpc.localhost" });
  expect([reply.status, reply.text, reply.headers["strict-transport-security"]]).toEqual([200, "one", "max-age=60"]);
  const misdirected = ["app.example.com", "app.localhost"].map((host) => ({ ":path": "/", ":authority": host }));
  for (const headers of [...misdirected, { ":path": "/_portside/x", ":authority": "rpc.localhost" }])
    expect(await statusAndHsts(session, headers)).toEqual([421, "max-age=60"]);
  const unknown = { ":path": "/", ":authority": "none.localhost" };
  expect(await statusAndHsts(session, unknown)).toEqual([404, "max-age=60"]);
  session.destroy();
});

test("ends the session of a client whose service no longer uses HTTP/2, after a 421", async () => {
  await using one = await start();
  const session = await openTlsSession(one.target, "rpc.localhost");
  const request = { ":path": "/", ":authority": "rpc.localhost" };
  expect((await sendOver(session, request)).text).toBe("one");
  one.ingress.switchTo("rpc", one.ingress.route("app")?.serving);
  const closed = once(session, "close");
  expect((await sendOver(session, request)).status).toBe(421);
  await closed;
  expect((await sendTls(one.target, "rpc.localhost")).text).toBe("one 0");
});

test("presents the certificate of the host name, in any case and with a trailing dot", async () => {
  await using one = await start();
  for (const host of ["app.localhost", "APP.Localhost"])
    expect(await subjectOf(one.target, host)).toBe("DNS:app.localhost");
  const dotted = await handshake(one.target, "app.localhost.", { checkServerIdentity: () => undefined });
  expect(dotted.getPeerCertificate().subjectaltname).toBe("DNS:app.localhost");
  dotted.destroy();
});

test("refuses a host name without a certificate", async () => {
  await using one = await start();
  for (const host of ["other.localhost", "a".repeat(250), "127.0.0.1", ""])
    expect(await failedHandshake(one.target, host)).toContain("unrecognized name");
});

test("presents the operator's certificate for its host names, for services, and to clients that send no name", async () => {
  const fallback = authority.issue("*.apps.example");
  await using one = await start(testTls({ "app.localhost": authority.issue("app.localhost") }, fallback));
  const options = { checkServerIdentity: () => undefined };
  for (const host of ["x.apps.example", "rpc.localhost", ""]) {
    const socket = await handshake(one.target, host, options);
    expect(socket.getPeerCertificate().subjectaltname).toBe("DNS:*.apps.example");
    socket.destroy();
  }
  expect(await subjectOf(one.target, "app.localhost")).toBe("DNS:app.localhost");
  const nameless = await handshake(one.target, "", { ...options, ALPNProtocols: ["h2", "http/1.1"] });
  expect(nameless.alpnProtocol).toBe("http/1.1");
  nameless.destroy();
});

test("refuses other host names, though the operator has a certificate", async () => {
  await using one = await start(testTls({}, authority.issue("*.apps.example")));
  for (const host of ["apps.example", "other.example", "none.localhost", "a.x.apps.example", "127.0.0.1"])
    expect(await failedHandshake(one.target, host)).toContain("unrecognized name");
});

test("presents a new certificate to new connections, and keeps the open ones", async () => {
  await using one = await start();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  await sendTls(one.target, "app.localhost", { agent });
  const before = (await handshake(one.target, "app.localhost")).getPeerCertificate().serialNumber;
  one.tls.certificates.set("app.localhost", authority.issue("app.localhost"));
  const after = (await handshake(one.target, "app.localhost")).getPeerCertificate().serialNumber;
  expect(after).not.toBe(before);
  const reply = await sendTls(one.target, "app.localhost", { agent });
  expect([reply.status, reply.headers.connection]).toEqual([200, "keep-alive"]);
  agent.destroy();
});

test("answers tls-alpn-01 with the challenge's certificate, and other clients with the host's", async () => {
  await using one = await start();
  const validation = { ALPNProtocols: ["acme-tls/1"] };
  expect(await failedHandshake(one.target, "app.localhost", validation)).toContain("unrecognized name");
  const challenge = authority.issue("app.localhost");
  one.tls.challengeCertificates.set("app.localhost", challenge);
  const socket = await handshake(one.target, "app.localhost", validation);
  expect(socket.alpnProtocol).toBe("acme-tls/1");
  expect(socket.getPeerX509Certificate()?.toString()).toBe(challenge.chain);
  socket.resume();
  await once(socket, "close");
  const other = await handshake(one.target, "app.localhost");
  expect(other.getPeerX509Certificate()?.toString()).not.toBe(challenge.chain);
  other.destroy();
});

test("drains: open requests end, and sessions close without refusing a stream", async () => {
  await using one = await start();
  const session = await openTlsSession(one.target, "rpc.localhost");
  const held = session.request({ ":path": "/held", ":authority": "rpc.localhost" });
  await once(held, "response");
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  await sendTls(one.target, "app.localhost", { agent });
  const drained = one.ingress.drain(LONG_MS);
  const during = await Promise.all(
    Array.from({ length: 5 }, () => sendOver(session, { ":path": "/", ":authority": "rpc.localhost" })),
  );
  expect(during.map(({ status }) => status)).toEqual(Array(5).fill(200));
  const last = await sendTls(one.target, "app.localhost", { agent });
  expect([last.status, last.headers.connection]).toEqual([200, "close"]);
  const closed = once(session, "close");
  one.end("over");
  held.resume();
  await closed;
  await drained;
  agent.destroy();
});
