/** HTTP/2 services (h2c), with clients of both versions. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { openRaw, send, sendRaw } from "../../../support/http/clients.ts";
import { sendHttp2 } from "../../../support/http/http2-client.ts";
import { http2Service } from "../../../support/http/http2-service.ts";
import { startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";

let platform: TestPlatform;
let url: string;

beforeAll(async () => {
  platform = await startLocal({ runner: "process" });
  url = await platform.up(http2Service, { use_http2: true, max_instances: 1, session_affinity: true });
  await platform.up(nodeSource(helloServer()), { function_name: "old" });
});

afterAll(() => platform[Symbol.asyncDispose]());

const shared = () => `http://127.0.0.1:${platform.local.ingressPort}`;
const at = (name: string) => ({ ":authority": `${name}.localhost` });

describe("an HTTP/1.1 client", () => {
  test("gets the response, and the service gets the request", async () => {
    const reply = await send(url, { method: "PUT", path: "/a?b", headers: { host: "shop.example" }, body: "hello" });
    expect(reply.status).toBe(200);
    const { headers, body } = JSON.parse(reply.text);
    expect(body).toBe("hello");
    expect(headers).toMatchObject({
      ":method": "PUT",
      ":path": "/a?b",
      ":authority": "shop.example",
      "x-forwarded-for": "127.0.0.1",
      "x-forwarded-proto": "http",
      "x-forwarded-host": "shop.example",
      "x-request-id": reply.headers["x-request-id"],
    });
  });

  test("gets trailers, the service's and the platform's cookies, and no body for HEAD", async () => {
    const reply = await send(url, { path: "/trailers" });
    expect(reply.text).toBe("abc");
    expect(reply.trailers).toEqual({ "x-sum": "6" });
    expect(reply.headers["set-cookie"]?.slice(0, 2)).toEqual(["a=1", "b=2"]);
    expect(reply.headers["set-cookie"]?.[2]).toMatch(/^portside_affinity=/);
    expect(reply.headers["x-bytes"]).toBe("\u00e9");
    expect(await send(url, { method: "HEAD", path: "/trailers" })).toMatchObject({ status: 200, text: "" });
  });

  test.each([
    ["TE: gzip"],
    ["Connection: X-Hop, TE", "X-Hop: 1", "TE: trailers;q=0.5"],
    ["Keep-Alive: 5", "Proxy-Connection: keep-alive", "Upgrade: h2c", "HTTP2-Settings: AAAA"],
    ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAAA"],
  ])("may send headers that HTTP/2 does not allow: %s", async (...lines) => {
    const received = await sendRaw(
      url,
      `GET / HTTP/1.1\r\nHost: app\r\nConnection: close\r\n${lines.join("\r\n")}\r\n\r\n`,
    );
    expect(received).toMatch(/^HTTP\/1\.1 200 /);
    expect(received).not.toMatch(/"(te|x-hop|keep-alive|proxy-connection|upgrade|http2-settings|connection)"/);
  });

  test("gets a response that does not wait for the request's body, and can reuse its connection", async () => {
    const size = 8 * 1024 ** 2;
    const { socket, received } = openRaw(url);
    socket.write(`POST /early HTTP/1.1\r\nHost: app\r\nContent-Length: ${size}\r\n\r\n`);
    await received("too big");
    socket.write(Buffer.alloc(size));
    socket.write("GET / HTTP/1.1\r\nHost: app\r\nConnection: close\r\n\r\n");
    await received('"body":""');
  });
});

test("returns 404 for an unknown host, and 505 for a service that uses HTTP/1.1", async () => {
  expect((await sendHttp2(shared(), at("unknown"))).status).toBe(404);
  const reply = await sendHttp2(shared(), at("old"));
  expect(reply.status).toBe(505);
  expect(JSON.parse(reply.text).detail).toContain("use_http2");
});

test("routes by the header Host if the client sends no :authority, and otherwise by :authority", async () => {
  const host = "app.localhost:8080";
  const reply = await sendHttp2(shared(), { host });
  expect(reply.status).toBe(200);
  expect(JSON.parse(reply.text).headers).toMatchObject({ ":authority": host, "x-forwarded-host": host });
  expect((await sendHttp2(shared(), { ...at("unknown"), host })).status).toBe(404);
  const both = await sendHttp2(shared(), { ...at("app"), host: "unknown.localhost" });
  expect(JSON.parse(both.text).headers).not.toHaveProperty("host");
});

test("answers sixty concurrent streams", async () => {
  const replies = await Promise.all(
    Array.from({ length: 60 }, (_, count) => sendHttp2(url, { ":path": `/${count}`, ":method": "POST" }, `${count}`)),
  );
  for (const [count, { text }] of replies.entries()) expect(JSON.parse(text).body).toBe(`${count}`);
});

test("keeps the bytes of non-ASCII headers for all combinations of versions", async () => {
  const { headers, text } = await sendHttp2(url, { ":path": "/trailers" });
  expect(headers["x-bytes"]).toBe("\u00e9");
  expect(text).toBe("abc");
  const name = "caf\u00e9 \u00c3\u00a9";
  for (const asked of [sendHttp2(url, { "x-name": name }), send(url, { headers: { "x-name": name } })])
    expect(JSON.parse((await asked).text).headers["x-name"]).toBe(name);
});
