/**
 * The platform closes idle connections to instances before the service does. Otherwise, a request could be lost in a
 * closing connection, and the platform must not send a POST again.
 */

import { expect, test } from "vitest";
import { nodeSource } from "../../../support/archives/archives.ts";
import { callbackCode, startCallbackServer } from "../../../support/http/callback-server.ts";
import { openRequest, replyOf, send } from "../../../support/http/clients.ts";
import { startLocal } from "../../../support/providers/local-platform.ts";

/**
 * Closes idle connections after two seconds or `IDLE_MS`, like gunicorn, without announcing it. Reports which side
 * ended each connection. Responds to `/posts` with the number of times that each body arrived.
 */
const server = `
${callbackCode}
import { createServer } from "node:http";
const posts = new Map();
let opened = 0;
const server = createServer(async (request, response) => {
  const id = Buffer.concat(await Array.fromAsync(request)).toString();
  posts.set(id, (posts.get(id) ?? 0) + 1);
  response.setHeader("connection", "keep-alive");
  response.setHeader("x-opened", opened);
  response.end(request.url === "/posts" ? JSON.stringify([...posts]) : "kept");
});
server.keepAliveTimeout = Number(process.env.IDLE_MS ?? 2000);
server.keepAliveTimeoutBuffer = 0;
server.on("connection", (socket) => {
  opened++;
  let peerEnded = false;
  socket.on("end", () => { peerEnded = true; });
  socket.on("close", () => report("closed", peerEnded ? "by the platform" : "by the service"));
});
server.listen(process.env.PORT);
`;

test("closes idle connections before the service does", async () => {
  await using callbacks = await startCallbackServer();
  await using platform = await startLocal({ runner: "process" });
  // Far from the platform's own timeout, so that a busy machine does not decide which side is first.
  const env = { ...callbacks.env, IDLE_MS: "20000" };
  const url = await platform.up(nodeSource(server), { max_instances: 1, concurrency: 100, env });
  const replies = await Promise.all(
    Array.from({ length: 10 }, (_, id) => send(url, { method: "POST", body: `${id}` })),
  );
  const opened = Math.max(...replies.map(({ headers }) => Number(headers["x-opened"])));
  const closed = await callbacks.reported("closed", opened);
  expect(closed.filter((by) => by === "by the service")).toEqual([]);
});

test("neither loses nor repeats a POST around the time when the service closes idle connections", async () => {
  await using callbacks = await startCallbackServer();
  await using platform = await startLocal({ runner: "process" });
  const url = await platform.up(nodeSource(server), { max_instances: 1, concurrency: 1000, env: callbacks.env });
  const clients = Array.from({ length: 100 }, (_, client) => async () => {
    const first = await send(url, { method: "POST", body: `${client} first` });
    // Spread over two seconds, plus or minus 10%.
    await new Promise((resolve) => setTimeout(resolve, 1900 + 2 * client));
    const second = await send(url, { method: "POST", body: `${client} second` });
    return [first.status, second.status];
  });
  expect(await Promise.all(clients.map((run) => run()))).toEqual(Array(100).fill([200, 200]));
  const posts = JSON.parse((await send(url, { path: "/posts" })).text) as [string, number][];
  expect(posts.filter(([id]) => id !== "")).toHaveLength(200);
  expect(posts.filter(([id, count]) => id !== "" && count !== 1)).toEqual([]);
});

test("does not reserve an idle connection for a request whose body is slow", async () => {
  await using callbacks = await startCallbackServer();
  await using platform = await startLocal({ runner: "process" });
  const url = await platform.up(nodeSource(server), { max_instances: 1, env: callbacks.env });
  await send(url, { method: "POST", body: "before" });
  const { request, response } = openRequest(url, { method: "POST", headers: { "content-length": 4 } });
  // Sends only the head, then waits until all idle connections are closed.
  request.flushHeaders();
  await callbacks.reported("closed", callbacks.seen("closed").length + 1);
  request.end("late");
  const reply = await replyOf(await response);
  expect(reply.status).toBe(200);
  const posts = JSON.parse((await send(url, { path: "/posts" })).text) as [string, number][];
  expect(posts).toContainEqual(["late", 1]);
});
