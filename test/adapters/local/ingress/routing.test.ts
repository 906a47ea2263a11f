/** Routes requests to services: by the service's own port, or by host name on the shared port. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { openRaw, type Reply, send, sendRaw } from "../../../support/http/clients.ts";
import { http2Service } from "../../../support/http/http2-service.ts";
import { principalOf, startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";

let platform: TestPlatform;
let shared: string;
const own: Record<string, string> = {};

beforeAll(async () => {
  platform = await startLocal({ runner: "process" });
  shared = `http://127.0.0.1:${platform.local.ingressPort}`;
  for (const name of ["one", "two"])
    own[name] = await platform.up(nodeSource(helloServer(`I am ${name}`)), { function_name: name });
});

afterAll(() => platform[Symbol.asyncDispose]());

const askFor = (host: string, path = "/"): Promise<Reply> => send(shared, { path, headers: { host } });

test("each service has its own port, which ignores the host name", async () => {
  for (const name of ["one", "two"])
    expect((await send(own[name] as string, { headers: { host: "anything.example" } })).text).toBe(`I am ${name}`);
});

test.each(["one.localhost", "one.localhost:8080", "ONE.LocalHost", "one.localhost.", "one.localhost.:8080"])(
  "the shared port routes by host name: %s",
  async (host) => {
    expect((await askFor(host)).text).toBe("I am one");
    expect((await askFor(host.replace(/one/i, "two"))).text).toBe("I am two");
  },
);

test.each([
  "unknown.localhost",
  "localhost",
  "one",
  "one.example",
  "x.one.localhost",
  ".localhost",
  "127.0.0.1",
  "[::1]:80",
])("returns 404 for an unknown host: %s", async (host) => {
  const reply = await askFor(host);
  expect(reply.status).toBe(404);
  expect(JSON.parse(reply.text)).toEqual({ detail: "No service has this host name." });
  expect(reply.headers["x-request-id"]).toMatch(/^[a-z0-9]{20}$/);
});

test("returns 404 for an HTTP/1.0 request without a host on the shared port, and serves it on the service's own", async () => {
  expect(await sendRaw(shared, "GET / HTTP/1.0\r\n\r\n")).toMatch(/^HTTP\/1\.1 404 /);
  const served = await sendRaw(own["one"] as string, "GET / HTTP/1.0\r\n\r\n");
  expect(served).toMatch(/^HTTP\/1\.1 200 /);
  expect(served).toMatch(/\r\n\r\nI am one$/);
});

test("returns 404 for an upgrade request to an unknown host", async () => {
  const head = "GET / HTTP/1.1\r\nHost: unknown.localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
  expect(await sendRaw(shared, head)).toMatch(/^HTTP\/1\.1 404 /);
});

test("a client that sends a body to an unknown host gets the 404, not a reset", async () => {
  const size = 8 * 1024 ** 2;
  const { socket, received } = openRaw(shared);
  socket.pause();
  socket.write(`POST / HTTP/1.1\r\nHost: unknown.localhost\r\nContent-Length: ${size}\r\n\r\n`);
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.write(Buffer.alloc(size), () => resolve());
  });
  socket.resume();
  await received("HTTP/1.1 404 Not Found");
  socket.destroy();
});

test("only paths below /_portside/ belong to the platform, on every host and port", async () => {
  expect((await askFor("one.localhost", "/_portside/storage/x")).status).toBe(404);
  expect((await send(own["one"] as string, { path: "/_portside/" })).status).toBe(404);
  expect((await askFor("one.localhost", "/_portsidelike")).text).toBe("I am one");
});

test("with a domain, services have the host name and URL NAME.DOMAIN", async () => {
  await using withDomain = await startLocal({ runner: "process", domain: "apps.example" });
  const url = await withDomain.up(nodeSource(helloServer("hi")), { function_name: "one" });
  expect(url).toBe(`http://one.apps.example:${withDomain.local.ingressPort}`);
  for (const host of ["one.apps.example", "one.localhost"])
    expect((await send(url, { headers: { host } })).text).toBe("hi");
  expect((await send(url, { headers: { host: "apps.example" } })).status).toBe(404);
});

test("behind a proxy with TLS, URLs have the proxy's scheme and port, and services see https", async () => {
  await using behind = await startLocal({ runner: "process", domain: "https://apps.example" });
  const source = nodeSource(`import { createServer } from "node:http";
createServer((request, response) => response.end(JSON.stringify(request.headers))).listen(process.env.PORT);`);
  expect(await behind.up(source, { function_name: "one" })).toBe("https://one.apps.example");
  expect(await behind.up(http2Service, { function_name: "two", use_http2: true })).toBe("https://two.apps.example");
  const url = `http://127.0.0.1:${behind.local.ingressPort}`;
  const headersFor = async (host: string) => JSON.parse((await send(url, { headers: { host } })).text);
  expect(await headersFor("one.apps.example")).toMatchObject({ "x-forwarded-proto": "https" });
  expect(await headersFor("one.localhost")).toMatchObject({ "x-forwarded-proto": "http" });
  expect((await headersFor("two.apps.example")).headers).toMatchObject({ "x-forwarded-proto": "https" });
  const acme = principalOf("acme");
  (await behind.controlPlane.createVolume(acme, { name: "files" }))._unsafeUnwrap();
  const granted = (await behind.controlPlane.grantUpload(acme, { volume: "files", object: "a" }))._unsafeUnwrap();
  expect(granted).toMatchObject({ url: expect.stringMatching("^https://storage.apps.example/_portside/storage/") });
});

test("returns 503 with Retry-After for a service without a serving revision", async () => {
  const records = await platform.deploy(nodeSource("process.exit(1);"), { function_name: "broken" });
  expect(records.at(-1)?.status).toBe("ERROR");
  const reply = await askFor("broken.localhost");
  expect(reply.status).toBe(503);
  expect(reply.headers["retry-after"]).toBe("30");
});

test("a deleted service is unknown immediately, and its port is closed", async () => {
  const url = await platform.up(nodeSource(helloServer("bye")), { function_name: "gone" });
  const deleted = await platform.controlPlane.deleteDeployment(principalOf("acme"), { name: "gone" });
  expect(deleted.isOk()).toBe(true);
  expect((await askFor("gone.localhost")).status).toBe(404);
  await expect(send(url)).rejects.toThrow(/ECONNREFUSED|ECONNRESET/);
});
