/** Broken instances: the client gets an error, the instance is replaced, and no request is sent twice. */
import { Agent } from "node:http";
import { expect, test } from "vitest";
import { nodeSource } from "../../../support/archives/archives.ts";
import { type CallbackServer, callbackCode, startCallbackServer } from "../../../support/http/callback-server.ts";
import { openRequest, send } from "../../../support/http/clients.ts";
import { eventsOf, requestsOf } from "../../../support/logs/log-entries.ts";
import { startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";
import { eventually, isAlive } from "../../../support/vitest/eventually.ts";

/** Reports every request. Some requests end the process or its listener. */
const server = `
${callbackCode}
import { createServer } from "node:http";
const server = createServer(async (request, response) => {
  const body = Buffer.concat(await Array.fromAsync(request)).toString();
  await report(request.method, request.url + " " + body);
  switch (request.url) {
    case "/die":
      return process.exit(7);
    case "/die-midway":
      response.writeHead(200, { "content-length": 10 });
      response.write("12345");
      return setImmediate(() => process.exit(7));
    case "/reset":
      return request.socket.resetAndDestroy();
    case "/hang":
      return report("hangs", process.pid);
    case "/go-deaf":
      setInterval(() => undefined, 1000);
      return server.close(() => report("deaf")), response.setHeader("connection", "close").end("deaf");
    default:
      return response.end(process.pid + " " + body);
  }
}).listen(process.env.PORT);
`;

const start = async (fields: Readonly<Record<string, unknown>> = {}) => {
  await using stack = new AsyncDisposableStack();
  const callbacks: CallbackServer = stack.use(await startCallbackServer());
  const platform: TestPlatform = stack.use(await startLocal({ runner: "process" }));
  const url = await platform.up(nodeSource(server), { max_instances: 1, env: callbacks.env, ...fields });
  const teardown = stack.move();
  return { callbacks, platform, url, [Symbol.asyncDispose]: () => teardown.disposeAsync() };
};

/** The responding process. Requests while an instance exits may still get 502. */
const pidOf = (url: string): Promise<number> =>
  eventually(async () => {
    const { status, text } = await send(url);
    expect(status).toBe(200);
    return Number.parseInt(text, 10);
  });

test("returns 502 if an instance exits during a request, and starts another one for the next", async () => {
  await using service = await start();
  const pid = await pidOf(service.url);
  const reply = await send(service.url, { method: "POST", path: "/die", body: "1" });
  expect(reply.status).toBe(502);
  expect(JSON.parse(reply.text)).toEqual({ detail: "The service sent no valid response." });
  expect(await pidOf(service.url)).not.toBe(pid);
  expect((await send(service.url, { method: "POST", body: "2" })).status).toBe(200);
  expect(service.callbacks.seen("POST")).toEqual(["/die 1", "/ 2"]);
});

test("logs the reason and the exit code, however the exit was noticed", async () => {
  await using service = await start();
  for (let count = 1; count <= 5; count++) {
    expect((await send(service.url, { method: "POST", path: "/die" })).status).toBe(502);
    await pidOf(service.url);
    const crashed = await eventually(async () => {
      const events = await eventsOf(service.platform, "crashed");
      expect(events).toHaveLength(count);
      return events;
    });
    expect(crashed.at(-1)).toMatchObject({ reason: "crashed", exit_code: 7 });
  }
});

test("replaces an instance that is killed from outside, and logs the signal", async () => {
  await using service = await start();
  const hanging = send(service.url, { path: "/hang" });
  const pid = Number((await service.callbacks.reported("hangs"))[0]);
  process.kill(pid, "SIGKILL");
  expect((await hanging).status).toBe(502);
  await eventually(() => expect(isAlive(pid)).toBe(false));
  expect(await pidOf(service.url)).not.toBe(pid);
  await eventually(async () => {
    const [crash] = await eventsOf(service.platform, "crashed");
    expect(crash).toMatchObject({ reason: "crashed", message: "The service was terminated by signal SIGKILL." });
  });
});

test("truncates a response if the instance exits during it", async () => {
  await using service = await start();
  await expect(send(service.url, { path: "/die-midway" })).rejects.toThrow("aborted");
  await pidOf(service.url);
});

test("returns 502 for a POST whose connection is reset, without sending it again", async () => {
  await using service = await start();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let count = 1; count <= 20; count++) {
    // The previous request left an open connection, which this one uses.
    expect((await send(service.url, { agent })).status).toBe(200);
    expect((await send(service.url, { method: "POST", path: "/reset", body: `${count}`, agent })).status).toBe(502);
  }
  agent.destroy();
  expect(service.callbacks.seen("POST")).toEqual(Array.from({ length: 20 }, (_, index) => `/reset ${index + 1}`));
});

test("sends a request with its body to another instance if the first one no longer listens", async () => {
  await using service = await start({ max_instances: 2 });
  const deaf = await pidOf(service.url);
  expect((await send(service.url, { path: "/go-deaf" })).text).toBe("deaf");
  await service.callbacks.reported("deaf");
  const { request, response } = openRequest(service.url, { method: "POST" });
  const body = "x".repeat(300_000);
  request.write(body.slice(0, 100_000));
  request.end(body.slice(100_000));
  const answer = await response;
  expect(answer.statusCode).toBe(200);
  const text = Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>)).toString();
  expect(text.slice(text.indexOf(" ") + 1)).toBe(body);
  expect(Number.parseInt(text, 10)).not.toBe(deaf);
  expect(service.callbacks.seen("POST")).toHaveLength(1);
  // The platform ends the instance that no longer listens, and logs it for the owner.
  await eventually(() => expect(isAlive(deaf)).toBe(false));
  expect(await eventsOf(service.platform, "unreachable")).toHaveLength(1);
  expect(await eventsOf(service.platform, "crashed")).toEqual([]);
});

test("logs every request with method, status, latency and instance, including broken ones", async () => {
  await using service = await start();
  await send(service.url, { path: "/fine?q=1", headers: { "user-agent": "tester/1", host: "shop.example" } });
  await send(service.url, { method: "POST", path: "/die" });
  const entries = await requestsOf(service.platform);
  expect(entries.map(({ http }) => [http?.requestMethod, http?.status])).toEqual([
    ["GET", 200],
    ["POST", 502],
  ]);
  const [fine, broken] = entries;
  expect(fine).toMatchObject({
    severity: "INFO",
    http: {
      requestUrl: "http://shop.example/fine?q=1",
      responseSize: fine?.http?.responseSize,
      userAgent: "tester/1",
      remoteIp: "127.0.0.1",
      protocol: "HTTP/1.1",
      latency: expect.stringMatching(/^\d+\.\d{6}s$/),
    },
  });
  expect(fine?.http?.responseSize).toBeGreaterThan(0);
  expect(fine?.instance).toMatch(/^[a-z0-9]{20}$/);
  expect(fine?.revision).toBeDefined();
  expect(broken?.severity).toBe("ERROR");
});
