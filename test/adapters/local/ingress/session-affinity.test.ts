/** Requests of one client go to one instance while it runs. */
import { Agent } from "node:http";
import { expect, test } from "vitest";
import WebSocket from "ws";
import { nodeSource } from "../../../support/archives/archives.ts";
import { callbackCode, startCallbackServer } from "../../../support/http/callback-server.ts";
import { portOf, type Reply, send } from "../../../support/http/clients.ts";
import { startLocal } from "../../../support/providers/local-platform.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

/** Responds with its process id and two cookies, for `/hold` only after the test releases it. Accepts WebSockets. */
const server = `
${callbackCode}
import { createHash } from "node:crypto";
import { createServer } from "node:http";
createServer(async (request, response) => {
  if (request.url === "/hold") {
    await report("begun", process.pid);
    await hold("end");
  }
  response.setHeader("set-cookie", ["own=1", "two=2"]);
  response.end(String(process.pid));
}).on("upgrade", (request, socket) => {
  const key = request.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  const accept = createHash("sha1").update(key).digest("base64");
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n");
  socket.write("Sec-WebSocket-Accept: " + accept + "\\r\\n\\r\\n");
  const pid = String(process.pid);
  socket.write(Buffer.concat([Buffer.from([0x81, pid.length]), Buffer.from(pid)]));
}).listen(process.env.PORT);
`;

const cookieOf = (reply: Reply): string | undefined =>
  reply.headers["set-cookie"]
    ?.map((cookie) => cookie.split(";")[0] as string)
    .find((pair) => pair.startsWith("portside_"));

/** Two running instances, with the cookie of each. */
const twoInstances = async () => {
  await using stack = new AsyncDisposableStack();
  const callbacks = stack.use(await startCallbackServer());
  const platform = stack.use(await startLocal({ runner: "process" }));
  const fields = { concurrency: 2, max_instances: 3, session_affinity: true, env: callbacks.env };
  const url = await platform.up(nodeSource(server), fields);
  // Three concurrent requests, with two per instance.
  const held = [1, 2, 3].map(() => send(url, { path: "/hold" }));
  await callbacks.reported("begun", 3);
  callbacks.release("end");
  const replies = await Promise.all(held);
  const byPid = new Map(replies.map((reply) => [Number(reply.text), cookieOf(reply) as string]));
  expect(byPid.size).toBe(2);
  const teardown = stack.move();
  return { url, byPid, [Symbol.asyncDispose]: () => teardown.disposeAsync() };
};

test("fifty requests with the cookie reach one instance, for either instance", async () => {
  await using service = await twoInstances();
  for (const [pid, cookie] of service.byPid) {
    const agent = new Agent({ keepAlive: true, maxSockets: 2 });
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => send(service.url, { headers: { cookie: `theme=dark; ${cookie}` }, agent })),
    );
    agent.destroy();
    expect(new Set(replies.map(({ text }) => text))).toEqual(new Set([String(pid)]));
    // A client with the cookie does not get it again, and the service's own cookies pass.
    expect(replies[0]?.headers["set-cookie"]).toEqual(["own=1", "two=2"]);
  }
});

test("another instance takes over when the instance exits, and keeps the client", async () => {
  await using service = await twoInstances();
  const [[pid, cookie], [survivor]] = [...service.byPid] as [[number, string], [number, string]];
  process.kill(pid, "SIGKILL");
  // Requests while the instance exits may still get 502.
  const reply = await eventually(async () => {
    const answer = await send(service.url, { headers: { cookie } });
    expect(answer.status).toBe(200);
    return answer;
  });
  expect(Number(reply.text)).toBe(survivor);
  const next = cookieOf(reply) as string;
  expect(next).not.toBe(cookie);
  for (let count = 0; count < 10; count++)
    expect((await send(service.url, { headers: { cookie: next } })).text).toBe(reply.text);
});

test("routes a WebSocket to the client's instance, and sets the cookie for a new client", async () => {
  await using service = await twoInstances();
  const address = `ws://127.0.0.1:${portOf(service.url)}`;
  for (const [pid, cookie] of service.byPid) {
    const socket = new WebSocket(address, { headers: { cookie } });
    const [text] = await new Promise<[Buffer]>((resolve) =>
      socket.once("message", (data) => resolve([data as Buffer])),
    );
    expect(Number(text)).toBe(pid);
    socket.terminate();
  }
  const fresh = new WebSocket(address);
  const given = await new Promise<string[] | undefined>((resolve) =>
    fresh.once("upgrade", (answer) => resolve(answer.headers["set-cookie"])),
  );
  fresh.terminate();
  expect(given?.[0]).toMatch(/^portside_affinity=[a-z0-9]+; /);
});

test("sets no affinity cookie without session_affinity", async () => {
  await using callbacks = await startCallbackServer();
  await using platform = await startLocal({ runner: "process" });
  const url = await platform.up(nodeSource(server), { env: callbacks.env });
  const reply = await send(url, { headers: { cookie: "portside_affinity=abc" } });
  expect(reply.headers["set-cookie"]).toEqual(["own=1", "two=2"]);
});
