/** Bodies and their headers pass byte for byte, whatever their framing. */
import { createHash, randomBytes } from "node:crypto";
import { Agent } from "node:http";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { nodeSource } from "../../../support/archives/archives.ts";
import { openRaw, openRequest, replyOf, send, sendRaw } from "../../../support/http/clients.ts";
import { startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";

const server = `
import { createServer } from "node:http";
import { createHash } from "node:crypto";
createServer(async (request, response) => {
  if (request.url === "/early") {
    response.writeHead(413, { "content-length": 7 });
    return response.end("too big");
  }
  if (request.url === "/stored") {
    response.writeHead(200, { "content-length": 12345, "content-type": "text/plain" });
    return response.end();
  }
  const body = Buffer.concat(await Array.fromAsync(request));
  response.setHeader("x-length", String(request.headers["content-length"] ?? request.headers["transfer-encoding"]));
  response.setHeader("x-sha", createHash("sha1").update(body).digest("hex"));
  response.setHeader("x-expect", String(request.headers["expect"]));
  if (request.headers["content-encoding"]) response.setHeader("content-encoding", request.headers["content-encoding"]);
  if (request.url === "/chunked") response.write(body);
  response.end(request.url === "/chunked" ? "" : body);
}).listen(process.env.PORT);
`;

let platform: TestPlatform;
let url: string;

beforeAll(async () => {
  platform = await startLocal({ runner: "process" });
  url = await platform.up(nodeSource(server), { max_instances: 1 });
});

afterAll(() => platform[Symbol.asyncDispose]());

const sha = (bytes: Uint8Array) => createHash("sha1").update(bytes).digest("hex");

test.each([0, 1, 65_535, 65_536, 65_537, 3_000_000])("forwards %i bytes both ways with their length", async (size) => {
  const body = randomBytes(size);
  const reply = await send(url, { method: "POST", body, headers: { "content-length": size } });
  expect(reply.headers).toMatchObject({ "x-length": String(size), "x-sha": sha(body), "content-length": String(size) });
  expect(reply.body.equals(body)).toBe(true);
});

test("forwards chunked requests and responses as chunked", async () => {
  const { request, response } = openRequest(url, { method: "POST", path: "/chunked" });
  const body = randomBytes(300_000);
  for (let at = 0; at < body.length; at += 7919) request.write(body.subarray(at, at + 7919));
  request.end();
  const reply = await replyOf(await response);
  expect(reply.headers).toMatchObject({ "x-length": "chunked", "transfer-encoding": "chunked", "x-sha": sha(body) });
  expect(reply.body.equals(body)).toBe(true);
});

test.each(["GET", "DELETE"])("forwards the body of %s", async (method) => {
  const reply = await send(url, { method, body: "abc", headers: { "content-length": 3 } });
  expect(reply.text).toBe("abc");
});

test("forwards compressed bytes unchanged, both ways", async () => {
  const body = gzipSync(randomBytes(100_000));
  const headers = { "content-encoding": "gzip", "content-length": body.length, "accept-encoding": "gzip" };
  const reply = await send(url, { method: "PUT", body, headers });
  expect(reply.headers["content-encoding"]).toBe("gzip");
  expect(reply.body.equals(body)).toBe(true);
});

test("HEAD returns the length of GET without a body", async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const reply = await send(url, { method: "HEAD", path: "/stored", agent });
  expect(reply.headers).toMatchObject({ "content-length": "12345", "content-type": "text/plain" });
  expect(reply.body).toHaveLength(0);
  // The connection contains no bytes that could be read as the next response.
  expect((await send(url, { method: "POST", body: "next", agent })).text).toBe("next");
  agent.destroy();
});

test("answers Expect: 100-continue before the body is sent, without the service", async () => {
  const { request, response } = openRequest(url, {
    method: "POST",
    headers: { expect: "100-continue", "content-length": 5 },
  });
  request.flushHeaders();
  await new Promise<void>((resolve) => request.once("continue", resolve));
  request.end("hello");
  const reply = await replyOf(await response);
  expect(reply.text).toBe("hello");
  expect(reply.headers["x-expect"]).toBe("undefined");
});

test("accepts trailers of a request", async () => {
  const head =
    "POST / HTTP/1.1\r\nHost: a\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
  expect(await sendRaw(url, `${head}3\r\nabc\r\n0\r\nX-Sum: 6\r\n\r\n`)).toMatch(/\r\n\r\nabc$/);
});

test("delivers an early response to a client that keeps sending its body, and then the next response", async () => {
  const size = 8 * 1024 ** 2;
  const { socket, received } = openRaw(url);
  socket.write(`POST /early HTTP/1.1\r\nHost: app\r\nContent-Length: ${size}\r\n\r\n`);
  socket.write(Buffer.alloc(size / 2));
  await received("too big");
  socket.write(Buffer.alloc(size / 2));
  socket.write("GET / HTTP/1.1\r\nHost: app\r\nConnection: close\r\n\r\n");
  await received("HTTP/1.1 200 OK");
});
