/** No instance exceeds its concurrency, and no service its maximum of instances. Other requests wait, within limits. */
import { expect, test } from "vitest";
import { nodeSource } from "../../../support/archives/archives.ts";
import { callbackCode, startCallbackServer } from "../../../support/http/callback-server.ts";
import { openRequest, type Reply, replyOf, send } from "../../../support/http/clients.ts";
import { requestsOf } from "../../../support/logs/log-entries.ts";
import { startLocal } from "../../../support/providers/local-platform.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

/** Reports and holds requests to `/hold`, delays those to `/second`, and returns the maximum of concurrent requests. */
const server = `
${callbackCode}
import { createServer } from "node:http";
let active = 0, most = 0;
createServer(async (request, response) => {
  most = Math.max(most, ++active);
  if (request.url === "/second") await new Promise((resolve) => setTimeout(resolve, 1000));
  else if (request.url === "/hold") {
    await report("begun");
    await hold("end");
  }
  active--;
  response.end(JSON.stringify({ pid: process.pid, most }));
}).listen(process.env.PORT);
`;

const statusesOf = (replies: readonly Reply[]) => replies.map(({ status }) => status).sort();

test("runs eight requests in two instances with two each, and answers all", async () => {
  await using platform = await startLocal({ runner: "process" });
  const url = await platform.up(nodeSource(server), { concurrency: 2, max_instances: 2 });
  const startedAt = performance.now();
  const replies = await Promise.all(Array.from({ length: 8 }, () => send(url, { path: "/second" })));
  // Four concurrent requests, so two rounds. Timers count whole milliseconds.
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(1998);
  expect(statusesOf(replies)).toEqual(Array(8).fill(200));
  const seen = replies.map(({ text }) => JSON.parse(text) as { pid: number; most: number });
  expect(new Set(seen.map(({ pid }) => pid)).size).toBe(2);
  expect(Math.max(...seen.map(({ most }) => most))).toBe(2);
});

test("returns 503 with Retry-After immediately if the queue is full, and serves the queued requests", async () => {
  await using callbacks = await startCallbackServer();
  await using platform = await startLocal({ runner: "process", queue: 2 });
  const url = await platform.up(nodeSource(server), { concurrency: 1, max_instances: 1, env: callbacks.env });
  const first = send(url, { path: "/hold" });
  await callbacks.reported("begun");
  const others = [1, 2, 3].map(() => send(url, { path: "/hold" }));
  const refused = await Promise.race(others);
  expect(refused.status).toBe(503);
  expect(refused.headers["retry-after"]).toBe("1");
  expect(JSON.parse(refused.text)).toEqual({ detail: "Too many requests are waiting for this service. Try again." });
  callbacks.release("end");
  expect(statusesOf(await Promise.all([first, ...others]))).toEqual([200, 200, 200, 503]);
  expect(callbacks.seen("begun")).toHaveLength(3);
});

test("refuses requests without a free place if the queue length is 0", async () => {
  await using callbacks = await startCallbackServer();
  await using platform = await startLocal({ runner: "process", queue: 0 });
  const url = await platform.up(nodeSource(server), { concurrency: 1, max_instances: 1, env: callbacks.env });
  const first = send(url, { path: "/hold" });
  await callbacks.reported("begun");
  expect((await send(url)).status).toBe(503);
  callbacks.release("end");
  expect((await first).status).toBe(200);
});

test("returns 503 with Retry-After after waiting for the timeout, and not before", async () => {
  await using callbacks = await startCallbackServer();
  await using platform = await startLocal({ runner: "process" });
  const fields = { concurrency: 1, max_instances: 1, timeout: 1, env: callbacks.env };
  const url = await platform.up(nodeSource(server), fields);
  const first = send(url, { path: "/hold" });
  await callbacks.reported("begun");
  const startedAt = performance.now();
  // The place becomes free after a second. By then, a request without a place has also waited for a second.
  const others = [1, 2].map(() => send(url, { path: "/hold" }));
  const refused = await Promise.race(others);
  expect(refused.status).toBe(503);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(999);
  expect(refused.headers["retry-after"]).toBe("5");
  expect(JSON.parse(refused.text)).toEqual({ detail: "No instance of this service became free in time. Try again." });
  expect((await first).status).toBe(504);
  // On a busy machine both may have waited a second when the first place becomes free.
  for (const status of statusesOf(await Promise.all(others))) expect([503, 504]).toContain(status);
});

test("frees the place of a client that disconnects", async () => {
  await using callbacks = await startCallbackServer();
  await using platform = await startLocal({ runner: "process" });
  const url = await platform.up(nodeSource(server), { concurrency: 1, max_instances: 1, env: callbacks.env });
  const { request } = openRequest(url, { path: "/hold" });
  request.end();
  await callbacks.reported("begun");
  request.destroy();
  expect((await send(url)).status).toBe(200);
  const [entry] = await requestsOf(platform);
  expect(entry?.http?.status).toBe(499);
});

test("a waiting client that disconnects leaves the queue, without a request to the service", async () => {
  await using callbacks = await startCallbackServer();
  await using platform = await startLocal({ runner: "process", queue: 1 });
  const url = await platform.up(nodeSource(server), { concurrency: 1, max_instances: 1, env: callbacks.env });
  const first = openRequest(url, { path: "/hold" });
  first.request.end();
  await callbacks.reported("begun");
  // One request finds the queue empty and the other finds it full; the refusal shows which.
  const two = [1, 2].map(() => openRequest(url, { path: "/hold" }));
  for (const { request } of two) request.end();
  const refused = await Promise.race(two.map(({ response }, index) => response.then(() => index)));
  two[1 - refused]?.request.destroy();
  await eventually(async () => expect((await requestsOf(platform)).map(({ http }) => http?.status)).toContain(499));
  const patient = send(url);
  callbacks.release("end");
  expect((await patient).status).toBe(200);
  expect((await replyOf(await first.response)).status).toBe(200);
  expect(callbacks.seen("begun")).toHaveLength(1);
});
