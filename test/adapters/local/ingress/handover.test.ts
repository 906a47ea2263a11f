/** The ports of an ingress move to another process, and the old process drains. */
import { once } from "node:events";
import { Agent, request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { expect, test } from "vitest";
import WebSocket from "ws";
import { moveTo, startAdopting } from "../../../support/handover/adopting-child.ts";
import { ingressWith, startNamedIngress } from "../../../support/handover/named-ingress.ts";
import { openRaw, openRequest, portOf, replyOf, type SendOptions, send } from "../../../support/http/clients.ts";
import { openHttp2, sendHttp2 } from "../../../support/http/http2-client.ts";
import { ACK, clientPreface, END_HEADERS, END_STREAM, FRAME, frame } from "../../../support/http/http2-frames.ts";
import { createTestAuthority } from "../../../support/tls/test-authority.ts";
import { testTls } from "../../../support/tls/tls-ingress.ts";
import { has } from "../../../support/vitest/machine.ts";

/** Longer than any test may run. The test fails if a connection does not end earlier. */
const LONG_MS = 600_000;

const keepAlive = () => new Agent({ keepAlive: true, maxSockets: 1 });

/** Sends requests over one connection until the new process has served ten of them. */
const closedLoop = async (port: number, host: string, size: number) => {
  const agent = keepAlive();
  const seen: string[] = [];
  const closing: string[] = [];
  const sockets = new Set<unknown>();
  for (let served = 0; served < 10; ) {
    const text = await new Promise<string>((resolve, reject) => {
      const sent = request({ host, port, agent, method: size === 0 ? "GET" : "POST" }, async (response) => {
        const body = Buffer.concat(await response.toArray()).toString();
        if (response.statusCode !== 200) return reject(new Error(`${response.statusCode} ${body}`));
        if (response.headers.connection === "close") closing.push(body);
        resolve(body);
      });
      sent.on("error", reject);
      sent.on("socket", (socket) => sockets.add(socket));
      sent.end(Buffer.alloc(size));
    });
    seen.push(text);
    if (text.startsWith("new")) served++;
  }
  agent.destroy();
  return { seen, closing, sockets: sockets.size };
};

test("closed-loop clients lose no request and no connection, and move to the new process after one `Connection: close`", async () => {
  await using old = await startNamedIngress("old");
  using child = await startAdopting(old.ingress);
  const port = portOf(old.url("app"));
  const hosts = has("ipv6") ? ["127.0.0.1", "::1"] : ["127.0.0.1"];
  const sizes = [0, 100_000, 0, 10, 0, 1_000_000, 0, 0, 10, 0, 0, 0];
  const loops = sizes.map((size, index) => closedLoop(port, hosts[index % hosts.length] as string, size));
  await send(old.url("app"));
  await moveTo(child, old.ingress);
  const drained = old.ingress.drain(LONG_MS);
  const ends = await Promise.all(loops);
  await drained;
  for (const [index, { seen, closing, sockets }] of ends.entries()) {
    const [before, after] = [`old ${sizes[index]}`, `new ${sizes[index]}`];
    const ofOld = seen.filter((text) => text === before).length;
    expect(seen).toEqual([...Array(ofOld).fill(before), ...Array(seen.length - ofOld).fill(after)]);
    // A connection that the child has accepted before the drain never sees the old process.
    expect(closing).toEqual(ofOld === 0 ? [] : [before]);
    expect(sockets).toBe(ofOld === 0 ? 1 : 2);
  }
  expect(ends.filter(({ seen }) => seen[0]?.startsWith("old")).length).toBeGreaterThan(0);
});

test("an idle client's next response closes its connection, and the client continues on the new process", async () => {
  await using old = await startNamedIngress("old");
  using child = await startAdopting(old.ingress);
  const agent = keepAlive();
  const options: SendOptions = { agent };
  expect((await send(old.url("app"), options)).headers.connection).toBe("keep-alive");
  await moveTo(child, old.ingress);
  const drained = old.ingress.drain(LONG_MS);
  const last = await send(old.url("app"), options);
  expect([last.text, last.headers.connection]).toEqual(["old 0", "close"]);
  await drained;
  const next = await send(old.url("app"), options);
  expect([next.text, next.headers.connection]).toEqual(["new 0", "keep-alive"]);
  agent.destroy();
});

test("a new process without TLS settings closes the public ports of the old one, and serves the others", async () => {
  const { config } = testTls({ "app.localhost": createTestAuthority().issue("app.localhost") });
  await using old = await startNamedIngress("old", [], { tls: config });
  using child = await startAdopting(old.ingress);
  const { tlsPort, httpPort } = old.ingress;
  await moveTo(child, old.ingress);
  await old.ingress.drain(LONG_MS);
  expect((await send(old.url("app"))).text).toBe("new 0");
  for (const port of [tlsPort, httpPort])
    await expect(once(connect(port as number, "127.0.0.1"), "connect")).rejects.toThrow("ECONNREFUSED");
});

test("pipelined requests are all answered, and the last response closes the connection", async () => {
  await using old = await startNamedIngress("old");
  const { socket, received, closed } = openRaw(old.url("app"));
  socket.write("GET /held HTTP/1.1\r\nHost: a\r\n\r\n");
  await expect.poll(() => old.open.size).toBe(1);
  const drained = old.ingress.drain(LONG_MS);
  socket.write(
    "GET /held HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
  );
  await expect.poll(() => old.open.size).toBe(2);
  old.end("held");
  await received("old 0");
  const text = await closed;
  expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(4);
  expect([...text.matchAll(/^Connection: (.*)\r$/gim)].map((match) => match[1])).toEqual([
    ...Array(3).fill("keep-alive"),
    "close",
  ]);
  await drained;
});

test("the response to a request that waits for `100 Continue` closes the connection", async () => {
  await using old = await startNamedIngress("old");
  const { socket, received, closed } = openRaw(old.url("app"));
  await once(socket, "connect");
  // The ingress accepts in order, so it has accepted the silent connection.
  await send(old.url("app"));
  const drained = old.ingress.drain(LONG_MS);
  socket.write("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  await received("100 Continue");
  socket.write("one");
  expect(await closed).toMatch(/Connection: close\r\n.*old 3/s);
  await drained;
});

test("an event stream, an upload and a WebSocket continue in the old process until they end", async () => {
  await using old = await startNamedIngress("old");
  using child = await startAdopting(old.ingress);
  const url = old.url("app");
  const events = openRequest(url, { path: "/events" });
  events.request.end();
  const stream = await events.response;
  const upload = openRequest(url, { method: "POST", headers: { "content-length": 6 } });
  upload.request.write("one");
  const socket = new WebSocket(`ws://127.0.0.1:${portOf(url)}`);
  await once(socket, "open");
  await moveTo(child, old.ingress);
  let over = false;
  const drained = old.ingress.drain(LONG_MS).then(() => {
    over = true;
  });
  expect((await send(url)).text).toBe("new 0");
  socket.send("hello");
  expect(String((await once(socket, "message"))[0])).toBe("old hello");
  upload.request.end("two");
  expect((await replyOf(await upload.response)).text).toBe("old 6");
  old.emit("data: more\n\n");
  old.end("data: last\n\n");
  expect((await replyOf(stream)).text).toBe("data: old\n\ndata: more\n\ndata: last\n\n");
  expect(over).toBe(false);
  socket.close(4001);
  expect((await once(socket, "close"))[0]).toBe(4001);
  await drained;
});

test("the end of the drain time closes WebSockets, streams and connections that sent nothing", async () => {
  await using old = await startNamedIngress("old");
  const url = old.url("app");
  const socket = new WebSocket(`ws://127.0.0.1:${portOf(url)}`);
  await once(socket, "open");
  const silent = openRaw(url);
  await once(silent.socket, "connect");
  const rpc = openHttp2(old.url("rpc"), { ":path": "/held" });
  await once(rpc.stream, "response");
  const startedAt = performance.now();
  const drained = old.ingress.drain(500);
  socket.send("hello");
  expect(String((await once(socket, "message"))[0])).toBe("old hello");
  const closed = once(socket, "close");
  await drained;
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(499);
  expect((await closed)[0]).toBe(1006);
  expect(await silent.closed).toBe("");
  await expect(rpc.reply).rejects.toThrow();
});

test("a connection that has sent nothing before the drain is served by the old process", async () => {
  await using old = await startNamedIngress("old");
  using child = await startAdopting(old.ingress);
  const { socket, closed } = openRaw(old.url("app"));
  await once(socket, "connect");
  // The ingress accepts in order, so it has accepted the silent connection.
  expect((await send(old.url("app"))).text).toBe("old 0");
  await moveTo(child, old.ingress);
  const drained = old.ingress.drain(LONG_MS);
  socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  expect(await closed).toMatch(/Connection: close\r\n.*old 0/s);
  await drained;
});

test("connections that arrive before the new process accepts wait for it", async () => {
  await using old = await startNamedIngress("old");
  using child = await startAdopting(old.ingress);
  const port = portOf(old.url("app"));
  const [ipv4] = old.ingress.listeningPorts().find((one) => one.port === port)?.servers ?? [];
  child.send({ kind: "block", millis: 1000 });
  child.send({ kind: "adopt", port }, ipv4);
  const handled = child.handled().then(() => child.handled());
  await old.ingress.drain(LONG_MS);
  const replies = await Promise.all(Array.from({ length: 50 }, () => send(old.url("app"))));
  expect(replies.map(({ text }) => text)).toEqual(Array(50).fill("new 0"));
  await handled;
});

/** A frame of HTTP/2: https://www.rfc-editor.org/rfc/rfc9113#section-4.1 */
interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** An HTTP/2 client that acknowledges pings only when the test says so. */
const openFrames = async (port: number) => {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.on("error", () => undefined);
  let bytes = Buffer.alloc(0);
  const frames: Frame[] = [];
  socket.on("data", (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    while (bytes.length >= 9 && bytes.length >= 9 + bytes.readUIntBE(0, 3)) {
      const end = 9 + bytes.readUIntBE(0, 3);
      const [type, flags, stream] = [bytes.readUInt8(3), bytes.readUInt8(4), bytes.readUInt32BE(5)];
      frames.push({ type, flags, stream, payload: bytes.subarray(9, end) });
      bytes = bytes.subarray(end);
    }
  });
  socket.write(clientPreface);
  let pings = 0;
  return {
    frames,
    closed: once(socket, "close"),
    /** `GET /` with the authority `a`, from the static table: https://www.rfc-editor.org/rfc/rfc7541#appendix-A */
    get: (stream: number) =>
      socket.write(
        frame(FRAME.headers, END_STREAM | END_HEADERS, stream, Buffer.from([0x82, 0x86, 0x84, 0x41, 1, 97])),
      ),
    /** Acknowledges the next ping. */
    acknowledge: async () => {
      const index = pings++;
      const ping = () => frames.filter(({ type, flags }) => type === FRAME.ping && flags === 0)[index];
      await expect.poll(ping).toBeDefined();
      socket.write(frame(FRAME.ping, ACK, 0, ping()?.payload));
    },
    responses: () => frames.filter(({ type }) => type === FRAME.headers).map(({ stream }) => stream),
    /** The last stream ids of all GOAWAY frames. */
    goaways: () => frames.filter(({ type }) => type === FRAME.goaway).map(({ payload }) => payload.readUInt32BE(0)),
  };
};

test("an HTTP/2 session accepts the streams that its client opens before it knows of the drain", async () => {
  await using old = await startNamedIngress("old");
  const client = await openFrames(portOf(old.url("rpc")));
  client.get(1);
  await expect.poll(client.responses).toEqual([1]);
  const drained = old.ingress.drain(LONG_MS);
  await client.acknowledge();
  await expect.poll(client.goaways).toEqual([2 ** 31 - 1]);
  client.get(3);
  await expect.poll(client.responses).toEqual([1, 3]);
  await client.acknowledge();
  await client.closed;
  // Node repeats the final frame when it closes the connection.
  expect([...new Set(client.goaways())]).toEqual([2 ** 31 - 1, 3]);
  await drained;
});

test("an HTTP/2 session that begins during the drain is served and ends the same way", async () => {
  await using old = await startNamedIngress("old");
  const port = portOf(old.url("rpc"));
  const silent = connect(port, "127.0.0.1");
  await once(silent, "connect");
  await sendHttp2(old.url("rpc"), { ":path": "/" });
  const drained = old.ingress.drain(LONG_MS);
  const session = connectHttp2(`http://127.0.0.1:${port}`, { createConnection: () => silent });
  const goaway = once(session, "goaway");
  const [head] = await once(session.request({ ":path": "/" }).resume(), "response");
  expect(head[":status"]).toBe(200);
  expect((await goaway).slice(0, 2)).toEqual([0, 2 ** 31 - 1]);
  await once(session, "close");
  await drained;
});

test("a running HTTP/2 stream ends in the old process, and a new session reaches the new one", async () => {
  await using old = await startNamedIngress("old");
  using child = await startAdopting(old.ingress);
  const url = old.url("rpc");
  const running = openHttp2(url, { ":path": "/held" });
  await once(running.stream, "response");
  await moveTo(child, old.ingress);
  const drained = old.ingress.drain(LONG_MS);
  await once(running.stream.session as NonNullable<typeof running.stream.session>, "goaway");
  expect((await sendHttp2(url, { ":path": "/" })).text).toBe("new");
  old.end("whole");
  expect((await running.reply).text).toBe("whole");
  await drained;
});

const portsOf = (ingress: ReturnType<typeof ingressWith>) =>
  ingress.listeningPorts().map(({ port, use }) => ({ port, use }));

test("an ingress opens the ports that it does not inherit", async () => {
  const old = ingressWith();
  await old.open();
  await old.addService("app");
  const inherited = portsOf(old).filter(({ use }) => use.kind === "shared" || use.kind === "service");
  const next = ingressWith();
  await next.inherit(inherited);
  await next.open();
  await next.openSparePorts();
  expect(next.port).toBe(old.port);
  expect(await next.addService("app")).toBe(old.portOf("app"));
  expect(next.storagePort).not.toBe(old.storagePort);
  const opened = next.listeningPorts().filter(({ servers }) => servers.length > 0);
  expect(opened.map(({ use }) => use.kind)).toEqual(["storage", "spare", "spare"]);
  await next.close();
  await old.close();
});

test("a later list of ports adds the ports of new services and removes the ports of deleted ones", async () => {
  const old = ingressWith();
  await old.open();
  await old.addService("stays");
  await old.addService("goes");
  const next = ingressWith();
  await next.inherit(portsOf(old));
  await next.open();
  const stays = next.route("stays");
  const removal = old.removeService("goes");
  await old.addService("added");
  await removal;
  await next.inherit(portsOf(old));
  expect(portsOf(next)).toEqual(portsOf(old));
  expect(next.route("stays")).toBe(stays);
  expect(await next.addService("added")).toBe(old.portOf("added"));
  await next.close();
  await old.close();
});

test("a service that was deleted and created again keeps its port, and a deleted one leaves none", async () => {
  const old = ingressWith({ sparePorts: 0 });
  await old.open();
  await old.addService("again");
  await old.addService("goes");
  const next = ingressWith({ sparePorts: 0, previousPort: (service) => old.portOf(service) });
  await next.inherit(portsOf(old));
  await next.open();
  await old.removeService("goes");
  await next.inherit(portsOf(old));
  await next.removeService("again");
  expect(await next.addService("again")).toBe(old.portOf("again"));
  expect(portsOf(next)).toEqual(portsOf(old));
  await next.close();
  await old.close();
});
