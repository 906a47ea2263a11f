/** WebSockets: an unmodified `ws` server and an unmodified client, across redeploys. */
import { expect, test } from "vitest";
import WebSocket from "ws";
import { nodeSource } from "../../../support/archives/archives.ts";
import { packagedSource } from "../../../support/archives/packages.ts";
import { openRaw, portOf, send } from "../../../support/http/clients.ts";
import { requestsOf } from "../../../support/logs/log-entries.ts";
import { startLocal } from "../../../support/providers/local-platform.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

/** Echoes messages with its revision. Responds to other requests with the number of open sockets. */
const echo = packagedSource(
  `
import { createServer } from "node:http";
import { WebSocketServer } from "ws";
const server = createServer((request, response) => {
  response.setHeader("x-revision", process.env.REVISION);
  response.end(String(sockets.clients.size));
});
const sockets = new WebSocketServer({ server, handleProtocols: (names) => [...names][0] });
sockets.on("connection", (socket, request) => {
  socket.send(JSON.stringify(request.headers));
  socket.on("message", (data, binary) => socket.send(binary ? data : process.env.REVISION + " " + data));
});
server.listen(process.env.PORT);
`,
  "ws",
);

interface Client {
  readonly socket: WebSocket;
  /** Resolves with the next message. */
  next(): Promise<Buffer>;
  readonly closed: Promise<number>;
}

const open = (
  url: string,
  protocols: readonly string[] = [],
  headers: Readonly<Record<string, string>> = {},
): Client => {
  const socket = new WebSocket(`ws://127.0.0.1:${portOf(url)}/socket`, [...protocols], { headers });
  const received: Buffer[] = [];
  const waiting: ((data: Buffer) => void)[] = [];
  socket.on("message", (data) => {
    const give = waiting.shift();
    if (give === undefined) received.push(data as Buffer);
    else give(data as Buffer);
  });
  socket.on("error", () => undefined);
  return {
    socket,
    next: () =>
      new Promise((resolve) => {
        const first = received.shift();
        if (first === undefined) waiting.push(resolve);
        else resolve(first);
      }),
    closed: new Promise((resolve) => socket.once("close", (code) => resolve(code))),
  };
};

test("forwards messages both ways, text and a megabyte of bytes, and the client's address", async () => {
  await using platform = await startLocal({ runner: "process" });
  const url = await platform.up(echo, { env: { REVISION: "1" } });
  const { socket, next, closed } = open(url, ["chat"], { "x-request-id": "mine", traceparent: "00-a-b-01" });
  expect(JSON.parse(String(await next()))).toMatchObject({
    upgrade: "websocket",
    "x-request-id": "mine",
    "x-forwarded-for": "127.0.0.1",
    "x-forwarded-proto": "http",
    "x-forwarded-host": `127.0.0.1:${portOf(url)}`,
    traceparent: "00-a-b-01",
  });
  expect(socket.protocol).toBe("chat");
  socket.send("hello");
  expect(String(await next())).toBe("1 hello");
  const bytes = Buffer.alloc(1024 ** 2, 7);
  socket.send(bytes);
  expect((await next()).equals(bytes)).toBe(true);
  socket.close(4001, "done");
  expect(await closed).toBe(4001);
  await eventually(async () => {
    const [entry] = await requestsOf(platform);
    expect(entry).toMatchObject({ json: { request_id: "mine" }, http: { status: 101, requestMethod: "GET" } });
    expect(entry?.http?.responseSize).toBeGreaterThan(1024 ** 2);
  });
});

test("X-Forwarded-Proto is https if the domain's proxy has TLS", async () => {
  await using platform = await startLocal({ runner: "process", domain: "https://apps.example" });
  await platform.up(echo, { env: { REVISION: "1" } });
  const shared = `http://127.0.0.1:${platform.local.ingressPort}`;
  const { socket, next } = open(shared, [], { host: "app.apps.example" });
  expect(JSON.parse(String(await next()))).toMatchObject({ "x-forwarded-proto": "https" });
  socket.terminate();
});

test("a WebSocket survives a redeploy until the drain time ends", async () => {
  const drainSeconds = 4;
  await using platform = await startLocal({ runner: "process", drainSeconds });
  const url = await platform.up(echo, { env: { REVISION: "1" } });
  const old = open(url);
  await old.next();
  const startedAt = performance.now();
  await platform.up(echo, { env: { REVISION: "2" } });
  // New requests and sockets go to the new revision. The open one stays with the old one.
  expect((await send(url)).headers["x-revision"]).toBe("2");
  const fresh = open(url);
  await fresh.next();
  fresh.socket.send("hello");
  expect(String(await fresh.next())).toBe("2 hello");
  old.socket.send("hello");
  expect(String(await old.next())).toBe("1 hello");
  await old.closed;
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(drainSeconds * 1000);
  fresh.socket.send("still here");
  expect(String(await fresh.next())).toBe("2 still here");
  fresh.socket.terminate();
});

test("an open WebSocket occupies a place, and frees it when its client disappears", async () => {
  await using platform = await startLocal({ runner: "process", queue: 1 });
  const url = await platform.up(echo, { concurrency: 1, max_instances: 1, env: { REVISION: "1" } });
  const first = open(url);
  await first.next();
  const waits = send(url);
  first.socket.terminate();
  expect((await waits).status).toBe(200);
});

test("a client that disconnects while it waits occupies no place", async () => {
  await using platform = await startLocal({ runner: "process", queue: 1 });
  const url = await platform.up(echo, { concurrency: 1, max_instances: 1, env: { REVISION: "1" } });
  const first = open(url);
  await first.next();
  const lines = [
    "GET / HTTP/1.1",
    "Host: app",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
  ];
  const head = `${lines.join("\r\n")}\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`;
  // One request finds the queue empty and the other finds it full; the refusal shows which.
  const two = [openRaw(url), openRaw(url)];
  for (const { socket } of two) socket.write(head);
  const refused = await Promise.race(two.map(({ received }, index) => received(" 503 ").then(() => index)));
  two[1 - refused]?.socket.destroy();
  await eventually(async () =>
    expect((await requestsOf(platform)).map(({ http }) => http?.status).sort()).toEqual([499, 503]),
  );
  first.socket.terminate();
  const next = open(url);
  await next.next();
  next.socket.terminate();
});

test("closes an open WebSocket after the timeout, and not before", async () => {
  await using platform = await startLocal({ runner: "process" });
  const url = await platform.up(echo, { timeout: 1, env: { REVISION: "1" } });
  const startedAt = performance.now();
  const { closed } = open(url);
  expect(await closed).toBe(1006);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(999);
});

test.each([
  ["refuses it", 'request.socket.end("HTTP/1.1 401 No\\r\\nContent-Length: 2\\r\\n\\r\\nno")', 401, "no"],
  [
    "closes the connection",
    "request.socket.destroy()",
    502,
    JSON.stringify({ detail: "The service sent no valid response." }),
  ],
  ["says nothing", "undefined", 504, JSON.stringify({ detail: "The service took longer than its timeout." })],
])("reports to the client if a service %s", async (_words, code, status, text) => {
  await using platform = await startLocal({ runner: "process" });
  const server = `
    import { createServer } from "node:http";
    createServer().on("upgrade", (request) => ${code}).listen(process.env.PORT);
  `;
  const url = await platform.up(nodeSource(server), { timeout: 1 });
  const socket = new WebSocket(`ws://127.0.0.1:${portOf(url)}`);
  const [got, body] = await new Promise<[number | undefined, string]>((resolve) =>
    socket.once("unexpected-response", async (_request, answer) => {
      resolve([answer.statusCode, Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>)).toString()]);
    }),
  );
  expect([got, body]).toEqual([status, text]);
});
