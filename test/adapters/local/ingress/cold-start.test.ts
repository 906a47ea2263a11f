/** Scale to zero: one start for all waiting requests, a stop when idle, and a new start for the next request. */
import { expect, test } from "vitest";
import { createLocalProvider } from "../../../../adapters/local/index.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { callbackCode, startCallbackServer } from "../../../support/http/callback-server.ts";
import { portOf, send } from "../../../support/http/clients.ts";
import { entriesOf, eventsOf } from "../../../support/logs/log-entries.ts";
import { startLocal } from "../../../support/providers/local-platform.ts";
import { eventually, isAlive } from "../../../support/vitest/eventually.ts";

/** Responds with its process id; `/slow` after a second. */
const server = `
${callbackCode}
import { createServer } from "node:http";
await report("start", process.pid);
createServer((request, response) => {
  setTimeout(() => response.end(String(process.pid)), request.url === "/slow" ? 1000 : 0);
}).listen(process.env.PORT);
`;

test("starts one instance for twenty concurrent requests to a service at zero", async () => {
  await using callbacks = await startCallbackServer();
  await using platform = await startLocal({ runner: "process" });
  const url = await platform.up(nodeSource(server), { env: callbacks.env });
  expect(callbacks.seen("start")).toHaveLength(1);
  await platform.local.close();
  await using stack = new AsyncDisposableStack();
  const local = await createLocalProvider({ dataDir: platform.dataDir, ingressPort: 0, runner: "process" });
  stack.defer(() => local.close());
  const replies = await Promise.all(Array.from({ length: 20 }, () => send(url)));
  expect(replies.map(({ status }) => status)).toEqual(Array(20).fill(200));
  expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
  expect(callbacks.seen("start")).toHaveLength(2);
  const started = await eventsOf({ local }, "started");
  expect(started).toHaveLength(1);
  expect(started[0]?.["cold_start_ms"]).toBeGreaterThan(0);
});

test("a new server on the same data folder serves at the same URLs from the first request", async () => {
  await using platform = await startLocal({ runner: "process" });
  const url = await platform.up(nodeSource(helloServer("first")));
  const { ingressPort } = platform.local;
  await platform.local.close();
  await expect(send(url)).rejects.toThrow("ECONNREFUSED");
  await using stack = new AsyncDisposableStack();
  const local = await createLocalProvider({ dataDir: platform.dataDir, ingressPort: 0, runner: "process" });
  stack.defer(() => local.close());
  expect((await send(url)).text).toBe("first");
  expect(local.ingressPort).toBe(ingressPort);
  const shared = { headers: { host: `app.localhost:${ingressPort}` } };
  expect((await send(`http://127.0.0.1:${ingressPort}`, shared)).text).toBe("first");
  // This must be the service's stored port, not another one that happens to be free.
  expect(portOf(url)).not.toBe(ingressPort);
});

test("stops an idle instance, and starts another one for the next request", async () => {
  await using callbacks = await startCallbackServer();
  await using platform = await startLocal({ runner: "process", idle: "stop", idleSeconds: 0.3 });
  const url = await platform.up(nodeSource(server), { env: callbacks.env });
  const first = Number(callbacks.seen("start")[0]);
  await eventually(() => expect(isAlive(first)).toBe(false));
  const second = Number((await send(url)).text);
  expect(second).not.toBe(first);
  await eventually(() => expect(isAlive(second)).toBe(false));
  expect((await eventsOf(platform, "idle")).length).toBeGreaterThanOrEqual(2);
  // A stop is not a crash.
  expect(await eventsOf(platform, "crashed")).toEqual([]);
});

test("does not stop an instance during a long request", async () => {
  await using callbacks = await startCallbackServer();
  await using platform = await startLocal({ runner: "process", idle: "stop", idleSeconds: 0.2 });
  const url = await platform.up(nodeSource(server), { env: callbacks.env });
  const { status, text } = await send(url, { path: "/slow" });
  expect(status).toBe(200);
  expect(callbacks.seen("start")).toContain(text);
});

test("returns 503 with Retry-After if a service fails to start, and logs the cause for its owner only", async () => {
  await using callbacks = await startCallbackServer();
  await using platform = await startLocal({ runner: "process" });
  // The service starts once and fails afterwards.
  const once = `
    ${callbackCode}
    import { createServer } from "node:http";
    import { existsSync, writeFileSync } from "node:fs";
    if (existsSync(process.env.MARKER)) { console.error("the secret of the house"); process.exit(9); }
    writeFileSync(process.env.MARKER, "");
    createServer((request, response) => process.exit(8)).listen(process.env.PORT);
  `;
  const env = { ...callbacks.env, MARKER: `${platform.dataDir}/started-before` };
  const url = await platform.up(nodeSource(once), { env });
  expect((await send(url)).status).toBe(502);
  const refused = await eventually(async () => {
    const reply = await send(url);
    expect(reply.status).toBe(503);
    return reply;
  });
  expect(refused.headers["retry-after"]).toBe("5");
  expect(JSON.parse(refused.text)).toEqual({ detail: "The service does not start (crashed)." });
  const [failure] = await eventsOf(platform, "start_failed");
  expect(failure).toMatchObject({ reason: "crashed", exit_code: 9 });
  expect((await entriesOf(platform)).some(({ text }) => text === "the secret of the house")).toBe(true);
});
