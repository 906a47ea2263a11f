/** The storage over HTTP: conditions, ranges, and rejected or aborted uploads. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openRaw, openRequest, replyOf, sendRaw, statusesOf } from "../../../support/http/clients.ts";
import { type StorageServer, startStorage } from "../../../support/providers/storage-server.ts";

let storage: StorageServer;
beforeAll(async () => {
  storage = await startStorage();
});
afterAll(() => storage[Symbol.asyncDispose]());

const get = async (path: string, headers: Record<string, string> = {}, method = "GET") =>
  fetch(await storage.download(path), { headers, method });

const headOf = async (path: string) => {
  const { headers } = await get(path, {}, "HEAD");
  return { etag: headers.get("etag") ?? "", modified: headers.get("last-modified") ?? "" };
};

const LATER = "Fri, 02 Jan 2026 00:00:00 GMT";
const EARLIER = "Wed, 31 Dec 2025 00:00:00 GMT";

describe("ranges of ten bytes", () => {
  test.each([
    ["bytes=0-0", 206, "0-0", "0"],
    ["bytes=2-4", 206, "2-4", "234"],
    ["bytes=9-9", 206, "9-9", "9"],
    ["bytes=7-", 206, "7-9", "789"],
    ["bytes=7-99", 206, "7-9", "789"],
    ["bytes=-3", 206, "7-9", "789"],
    ["bytes=10-", 416, "*", ""],
    ["bytes=99-100", 416, "*", ""],
    ["bytes=-0", 416, "*", ""],
    // Unknown units and multiple ranges return the whole object.
    ["bytes=0-1,4-5", 200, null, "0123456789"],
    ["bytes=a-b", 200, null, "0123456789"],
    ["bytes=", 200, null, "0123456789"],
    ["bytes", 200, null, "0123456789"],
    ["lines=1-2", 200, null, "0123456789"],
    ["bytes=1", 200, null, "0123456789"],
  ])("responds to %s with %i", async (range, status, part, body) => {
    await storage.put("ten", "0123456789");
    const response = await get("ten", { range });
    expect([response.status, response.headers.get("content-range")]).toEqual([status, part && `bytes ${part}/10`]);
    expect(await response.text()).toBe(body);
  });

  test("ignores ranges of a HEAD", async () => {
    await storage.put("ten", "0123456789");
    const response = await get("ten", { range: "bytes=2-4" }, "HEAD");
    expect([response.status, response.headers.get("content-length")]).toEqual([200, "10"]);
  });

  test.each([
    ["the object's tag", ({ etag }: { etag: string }) => etag, 206],
    ["another tag", () => '"other"', 200],
    ["a weak tag", ({ etag }: { etag: string }) => `W/${etag}`, 200],
    ["the object's date", ({ modified }: { modified: string }) => modified, 206],
    ["another date", () => LATER, 200],
    ["nonsense", () => "nonsense", 200],
  ])("evaluates If-Range with %s", async (_what, condition, status) => {
    await storage.put("ten", "0123456789");
    const response = await get("ten", { range: "bytes=2-4", "if-range": condition(await headOf("ten")) });
    expect(response.status).toBe(status);
    expect(await response.text()).toBe(status === 206 ? "234" : "0123456789");
  });
});

describe("conditions of a GET", () => {
  const own = ({ etag }: { etag: string }) => etag;
  test.each([
    ["if-none-match", own, 304],
    ["if-none-match", (one: { etag: string }) => `W/${one.etag}`, 304],
    ["if-none-match", (one: { etag: string }) => `"x", ${one.etag}`, 304],
    ["if-none-match", () => "*", 304],
    ["if-none-match", () => '"x"', 200],
    ["if-match", own, 200],
    ["if-match", (one: { etag: string }) => `"x", ${one.etag}`, 200],
    ["if-match", () => "*", 200],
    ["if-match", () => '"x"', 412],
    ["if-match", (one: { etag: string }) => `W/${one.etag}`, 412],
    ["if-modified-since", () => LATER, 304],
    ["if-modified-since", () => EARLIER, 200],
    ["if-modified-since", () => "nonsense", 200],
  ])("%s %s", async (name, value, status) => {
    await storage.put("a", "content");
    const response = await get("a", { [name]: value(await headOf("a")) });
    expect(response.status).toBe(status);
    expect(await response.text()).toBe(status === 200 ? "content" : "");
  });
});

describe("conditions of a PUT", () => {
  test.each([
    ["if-none-match", "*", 412, 201],
    ["if-match", "*", 200, 412],
    ["if-match", '"x"', 412, 412],
    ["if-none-match", '"x"', 200, 201],
  ])("%s %s: %i if the object exists, %i if not", async (name, value, there, gone) => {
    await storage.put("there", "before");
    const change = async (path: string) =>
      (await fetch(await storage.upload(path), { method: "PUT", body: "after", headers: { [name]: value } })).status;
    expect(await change("there")).toBe(there);
    expect(await storage.text("there")).toBe(there === 200 ? "after" : "before");
    expect(await change(`gone-${name}-${value.length}`)).toBe(gone);
  });
});

describe("a PUT of a partial object", () => {
  test("is rejected if it has Content-Range", async () => {
    await storage.put("whole", "before");
    const headers = { "content-range": "bytes 0-2/6" };
    const response = await fetch(await storage.upload("whole"), { method: "PUT", body: "new", headers });
    expect([response.status, await storage.text("whole")]).toEqual([400, "before"]);
  });

  test.each([
    ["before its announced end", "Content-Length: 100\r\n\r\nhalf"],
    ["between chunks", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"],
    ["in a chunk that is broken", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n"],
  ])("that ends %s keeps the earlier object", async (_where, rest) => {
    await storage.put("cut", "before");
    const url = new URL(await storage.upload("cut"));
    const { socket, closed } = openRaw(url.href);
    await new Promise<void>((resolve) =>
      socket.end(`PUT ${url.pathname}${url.search} HTTP/1.1\r\nHost: x\r\n${rest}`, () => resolve()),
    );
    expect(statusesOf(await closed).filter((status) => status < 300)).toEqual([]);
    expect(await storage.text("cut")).toBe("before");
  });
});

describe("Expect: 100-continue", () => {
  const begin = (url: string, headers: Record<string, string> = {}) => {
    const { pathname, search } = new URL(url);
    const { request, response } = openRequest(url, {
      method: "PUT",
      path: pathname + search,
      headers: { expect: "100-continue", "content-length": 5, ...headers },
    });
    let continued = false;
    request.once("continue", () => {
      continued = true;
      request.end("hello");
    });
    request.flushHeaders();
    return { request, response, continued: () => continued };
  };

  test("sends 100 for a valid upload", async () => {
    const { response } = begin(await storage.upload("expected"));
    expect((await replyOf(await response)).status).toBe(201);
    expect(await storage.text("expected")).toBe("hello");
  });

  test("does not send 100 for a rejected upload", async () => {
    const tampered = (await storage.upload("refused")).replace(/.$/, (last) => (last === "0" ? "1" : "0"));
    for (const [url, headers, status] of [
      [tampered, {}, 403],
      [await storage.upload("refused"), { "content-range": "bytes 0-4/9" }, 400],
    ] as const) {
      const { request, response, continued } = begin(url, headers);
      expect((await response).statusCode).toBe(status);
      expect(continued()).toBe(false);
      request.destroy();
    }
  });
});

describe("web pages of other origins", () => {
  const shared = ({ headers }: Response) => [
    headers.get("access-control-allow-origin"),
    headers.get("access-control-expose-headers"),
    headers.get("access-control-allow-credentials"),
  ];
  const readable = ["*", "ETag, Content-Range", null];

  test("a preflight names every method and header of signed URLs, and returns no bytes", async () => {
    await storage.put("page", "content");
    for (const url of [await storage.download("page"), await storage.upload("page")]) {
      const response = await fetch(url, { method: "OPTIONS" });
      expect(response.status).toBe(204);
      expect(shared(response)).toEqual(readable);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        allow: "GET, HEAD, POST, PUT",
        "access-control-allow-methods": "GET, HEAD, POST, PUT",
        "access-control-allow-headers": "Content-Type, If-Match, If-Modified-Since, If-None-Match, If-Range, Range",
        "access-control-max-age": "7200",
      });
      expect(await response.text()).toBe("");
    }
  });

  test("a preflight of an expired or altered URL passes, so that the page can read the error", async () => {
    const url = await storage.download("page");
    for (const broken of [url.replace(/\?.*/, ""), url.replace(/expires=\d+/, "expires=1"), `${url}0`]) {
      expect((await fetch(broken, { method: "OPTIONS" })).status).toBe(204);
      const refused = await fetch(broken);
      expect([refused.status, ...shared(refused)]).toEqual([403, ...readable]);
    }
  });

  test.each<[number, string, RequestInit]>([
    [201, "PUT", { body: "new" }],
    [200, "PUT", { body: "replaced" }],
    [412, "PUT", { body: "x", headers: { "if-none-match": "*" } }],
    [400, "PUT", { body: "x", headers: { "content-range": "bytes 0-0/6" } }],
    [200, "GET", {}],
    [200, "HEAD", {}],
    [206, "GET", { headers: { range: "bytes=0-1" } }],
    [304, "GET", { headers: { "if-none-match": "*" } }],
    [412, "GET", { headers: { "if-match": '"x"' } }],
    [416, "GET", { headers: { range: "bytes=99-" } }],
    [405, "DELETE", {}],
    [403, "POST", {}],
  ])("can read a %i to %s", async (status, method, init) => {
    const path = `read-${status}-${method}`;
    if (status !== 201) await storage.put(path, "content");
    const url = method === "PUT" ? await storage.upload(path) : await storage.download(path);
    const response = await fetch(url, { ...init, method });
    expect([response.status, ...shared(response)]).toEqual([status, ...readable]);
  });

  test("can read a 404", async () => {
    const response = await get("absent");
    expect([response.status, ...shared(response)]).toEqual([404, ...readable]);
  });
});

test("returns no bytes for hostile targets", async () => {
  await storage.put("secret", "SECRET", storage.other);
  await storage.put("mine", "SECRET");
  const url = new URL(await storage.download("mine"));
  const other = new URL(await storage.download("secret", storage.other));
  const { volume, clock } = storage;
  const targets = [
    url.pathname.replace(volume.id, storage.other.id) + url.search,
    `/_portside/storage/${volume.id}/../${storage.other.id}/secret${other.search.replace(/.$/, "x")}`,
    `/_portside/storage/${volume.id}/%2e%2e/${storage.other.id}/secret${url.search}`,
    `/_portside/storage/${volume.id}/%252e%252e/mine${url.search}`,
    `/_portside/storage/${volume.id}/..%2F${storage.other.id}%2Fsecret${url.search}`,
    `/_portside/storage/${volume.id}/..\\${storage.other.id}\\secret${url.search}`,
    `/_portside/storage/${volume.id}/mine%00${url.search}`,
    `/_portside/storage/${volume.id}/%ff${url.search}`,
    `/_portside/storage/${volume.id}/${"a/".repeat(5000)}mine${url.search}`,
    url.pathname,
    `${url.pathname}?${"x".repeat(5000)}`,
    `${url.pathname}?expires=9999999999&signature=${url.searchParams.get("signature")}`,
  ];
  for (const target of targets) {
    const answer = await sendRaw(url.href, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(answer, target).not.toContain("SECRET");
    for (const status of statusesOf(answer)) expect([400, 403, 404, 414, 431]).toContain(status);
  }
  for (const method of ["PUT", "POST", "DELETE", "PATCH"])
    expect([403, 405]).toContain((await fetch(url, { method })).status);
  await clock.advance(59_999);
  expect((await fetch(url)).status).toBe(200);
  await clock.advance(1);
  expect((await fetch(url)).status).toBe(403);
});
