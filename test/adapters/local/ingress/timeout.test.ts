/** `timeout`: 504 before the response starts, a truncated response afterwards. The instance keeps serving. */
import { expect, test } from "vitest";
import { nodeSource } from "../../../support/archives/archives.ts";
import { type CallbackServer, callbackCode, startCallbackServer } from "../../../support/http/callback-server.ts";
import { openRaw, openRequest, replyOf, send } from "../../../support/http/clients.ts";
import { requestsOf } from "../../../support/logs/log-entries.ts";
import { startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

/** Completes only responses to `/`. For other paths, sends none or half of one. Does not read the body of `/unread`. */
const server = `
${callbackCode}
import { createServer } from "node:http";
let requests = 0;
createServer(async (request, response) => {
  const kind = request.url.slice(1);
  requests++;
  if (kind === "") return response.end(JSON.stringify({ pid: process.pid, requests }));
  request.once("close", () => report("closed", kind));
  if (kind !== "unread") request.resume();
  if (kind === "half-answer") {
    response.writeHead(200, { "content-length": "10" });
    response.write("12345");
  }
  await report("begun", kind);
}).listen(process.env.PORT);
`;

const start = async (timeout = 1) => {
  await using stack = new AsyncDisposableStack();
  const callbacks: CallbackServer = stack.use(await startCallbackServer());
  const platform: TestPlatform = stack.use(await startLocal({ runner: "process" }));
  const url = await platform.up(nodeSource(server), { timeout, max_instances: 1, env: callbacks.env });
  // Retries, because even these requests time out if the machine stalls for a second.
  const pid = () =>
    eventually(async () => {
      const { status, text } = await send(url);
      expect(status).toBe(200);
      return (JSON.parse(text) as { pid: number }).pid;
    });
  const teardown = stack.move();
  return { callbacks, platform, url, pid, [Symbol.asyncDispose]: () => teardown.disposeAsync() };
};

/** Timers count whole milliseconds. */
const SECOND = 999;

test("returns 504 if the service does not respond for a second, and not before; meanwhile the instance serves others", async () => {
  await using service = await start();
  const pid = await service.pid();
  const startedAt = performance.now();
  const late = send(service.url, { path: "/silent" });
  await service.callbacks.reported("begun");
  expect(await service.pid()).toBe(pid);
  const reply = await late;
  const took = performance.now() - startedAt;
  expect(reply.status).toBe(504);
  expect(took).toBeGreaterThanOrEqual(SECOND);
  expect(JSON.parse(reply.text)).toEqual({ detail: "The service took longer than its timeout." });
  expect(await service.pid()).toBe(pid);
  // The service is notified of the disconnect.
  await service.callbacks.reported("closed");
  const entry = (await requestsOf(service.platform)).find(({ http }) => http?.status === 504);
  expect(entry).toMatchObject({ severity: "ERROR", http: { requestUrl: expect.stringContaining("/silent") } });
});

test.each([
  ["the service reads it", "/reads"],
  ["the service does not read it", "/unread"],
])("returns 504 for half a request body after a second, and not before, if %s", async (_words, path) => {
  await using service = await start();
  const pid = await service.pid();
  const startedAt = performance.now();
  const size = 4 * 1024 ** 2;
  const { request, response } = openRequest(service.url, { method: "POST", path, headers: { "content-length": size } });
  request.write(Buffer.alloc(size / 2));
  await service.callbacks.reported("begun");
  expect(await service.pid()).toBe(pid);
  const reply = await replyOf(await response);
  expect(reply.status).toBe(504);
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(SECOND);
  request.destroy();
  expect(await service.pid()).toBe(pid);
});

test("a client that keeps sending after the 504 can read it and reuse its connection", async () => {
  await using service = await start(2);
  const size = 16 * 1024 ** 2;
  const { socket, received } = openRaw(service.url);
  socket.write(`POST /unread HTTP/1.1\r\nHost: app\r\nContent-Length: ${size}\r\n\r\n`);
  // Like a client that reads the response only after it has sent everything.
  socket.pause();
  socket.write(Buffer.alloc(size / 2));
  await eventually(async () =>
    expect((await requestsOf(service.platform)).map(({ http }) => http?.status)).toEqual([504]),
  );
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.write(Buffer.alloc(size / 2), () => resolve());
  });
  socket.resume();
  await received("HTTP/1.1 504 Gateway Timeout");
  socket.write("GET / HTTP/1.1\r\nHost: app\r\nConnection: close\r\n\r\n");
  await received("HTTP/1.1 200 OK");
  socket.destroy();
});

test("truncates a half-sent response after a second, and not before", async () => {
  await using service = await start();
  const pid = await service.pid();
  const startedAt = performance.now();
  const { request, response } = openRequest(service.url, { path: "/half-answer" });
  request.end();
  const answer = await response;
  expect(answer.statusCode).toBe(200);
  expect(await service.pid()).toBe(pid);
  let received = "";
  answer.on("data", (chunk: Buffer) => {
    received += chunk;
  });
  const error = await new Promise<Error>((resolve) => answer.once("error", resolve));
  expect(error.message).toBe("aborted");
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(SECOND);
  expect(received).toBe("12345");
  await service.callbacks.reported("closed");
  expect(await service.pid()).toBe(pid);
});
