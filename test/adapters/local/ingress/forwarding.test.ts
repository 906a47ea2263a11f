/** Requests as the service receives them, and responses as the client receives them, through the service's own port. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nodeSource } from "../../../support/archives/archives.ts";
import { send, sendForJson, sendRaw } from "../../../support/http/clients.ts";
import { requestsOf } from "../../../support/logs/log-entries.ts";
import { startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";

/** Responds with the request that it received. The response headers come from `x-answer`, as a flat JSON list. */
const server = `
import { createServer } from "node:http";
createServer((request, response) => {
  const { method, url, rawHeaders } = request;
  const answer = JSON.parse(request.headers["x-answer"] ?? "[]");
  for (let at = 0; at < answer.length; at += 2) response.appendHeader(answer[at], answer[at + 1]);
  const end = () => response.end(JSON.stringify({ method, url, rawHeaders, headers: request.headers }));
  if (url !== "/head-first") return end();
  response.write("", "latin1");
  setTimeout(end, 50);
}).listen(process.env.PORT);
`;

let platform: TestPlatform;
let url: string;

beforeAll(async () => {
  platform = await startLocal({ runner: "process" });
  url = await platform.up(nodeSource(server));
});

afterAll(() => platform[Symbol.asyncDispose]());

const answering = (...headers: readonly string[]) => ({ headers: { "x-answer": JSON.stringify(headers) } });

describe("the request", () => {
  test.each(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "QUERY"])(
    "keeps the method %s",
    async (method) => {
      expect(await sendForJson(url, { method })).toMatchObject({ method });
    },
  );

  test.each([
    "/",
    "/a/b?c=d&e=f%20g",
    "/%2e%2e/../a//b/",
    "/caf%C3%A9?q=%F0%9F%9A%A2",
    "/?",
    "/[brackets]|pipe",
    "//host-like/path",
  ])("forwards the target unchanged: %s", async (path) => {
    expect(await sendForJson(url, { path })).toMatchObject({ url: path });
  });

  test("contains the client's address, host and scheme", async () => {
    const { headers } = await sendForJson(url, { headers: { host: "shop.example:81", "x-forwarded-for": "10.0.0.9" } });
    expect(headers).toMatchObject({
      host: "shop.example:81",
      "x-forwarded-for": "10.0.0.9, 127.0.0.1",
      "x-forwarded-proto": "http",
      "x-forwarded-host": "shop.example:81",
    });
  });

  test("keeps traceparent and tracestate", async () => {
    const trace = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", tracestate: "a=1" };
    const { headers } = await sendForJson(url, { headers: trace });
    expect(headers).toMatchObject(trace);
    const entry = (await requestsOf(platform)).find(({ json }) => json?.["traceparent"] !== undefined);
    expect(entry?.json?.["traceparent"]).toBe(trace.traceparent);
  });

  test("drops headers of the client's connection", async () => {
    const hops = ["Connection: keep-alive, X-Hop", "X-Hop: 1", "Keep-Alive: timeout=9", "Proxy-Connection: keep-alive"];
    const more = ["Proxy-Authorization: Basic eA==", "TE: trailers", "Upgrade: h2c", "HTTP2-Settings: AAAA"];
    // The first Connection header offers no upgrade. The second one offers an upgrade, which the service ignores.
    for (const connection of ["close", "close, Upgrade, HTTP2-Settings"]) {
      const lines = ["GET / HTTP/1.1", "Host: app", ...hops, ...more, `Connection: ${connection}`, "X-Kept: 1"];
      const received = await sendRaw(url, `${lines.join("\r\n")}\r\n\r\n`);
      const { headers } = JSON.parse(received.slice(received.indexOf("{")));
      expect(headers["x-kept"]).toBe("1");
      const dropped = ["x-hop", "keep-alive", "proxy-connection", "proxy-authorization", "te", "upgrade"];
      for (const name of dropped) expect(headers).not.toHaveProperty(name);
    }
  });

  test("keeps routing and framing headers, even if Connection lists them", async () => {
    const lines = ["POST / HTTP/1.1", "Host: app", "Connection: close, Host, content-length", "Content-Length: 2"];
    const received = await sendRaw(url, `${lines.join("\r\n")}\r\n\r\nhi`);
    const { headers } = JSON.parse(received.slice(received.indexOf("{")));
    expect(headers).toMatchObject({ host: "app", "content-length": "2" });
  });

  test("keeps repeated headers and their case", async () => {
    const { rawHeaders } = await sendForJson(url, { headers: ["Host", "a", "X-Twice", "1", "x-TWICE", "2"] });
    expect(rawHeaders.join()).toContain("X-Twice,1,x-TWICE,2");
  });
});

describe("the request id", () => {
  test("is added if missing, the same for the service, the client and the log", async () => {
    const reply = await send(url);
    const id = reply.headers["x-request-id"];
    expect(id).toMatch(/^[a-z0-9]{20}$/);
    expect(JSON.parse(reply.text).headers["x-request-id"]).toBe(id);
    expect((await requestsOf(platform)).map(({ json }) => json?.["request_id"])).toContain(id);
  });

  test("is the client's if valid", async () => {
    const reply = await send(url, { headers: { "x-request-id": "A.b_c:d/e+f=g-1" } });
    expect(reply.headers["x-request-id"]).toBe("A.b_c:d/e+f=g-1");
    expect(JSON.parse(reply.text).headers["x-request-id"]).toBe("A.b_c:d/e+f=g-1");
  });

  test.each([
    ["with spaces", "a b"],
    ["too long", "a".repeat(129)],
    ["with quotes", '"}{"'],
    ["empty", ""],
  ])("is replaced if the client's is invalid: %s", async (_words, given) => {
    const reply = await send(url, { headers: { "x-request-id": given } });
    expect(reply.headers["x-request-id"]).toMatch(/^[a-z0-9]{20}$/);
    const { rawHeaders } = JSON.parse(reply.text);
    expect(rawHeaders.filter((name: string) => name.toLowerCase() === "x-request-id")).toHaveLength(1);
  });
});

describe("the response", () => {
  test("keeps Set-Cookie and other repeated headers separate", async () => {
    const twice = ["Set-Cookie", "a=1; Expires=Wed, 21 Oct 2037 07:28:00 GMT", "Set-Cookie", "b=2", "Vary", "A"];
    const { headers } = await send(url, answering(...twice, "Vary", "B", "Link", "</a>", "Link", "</b>"));
    expect(headers["set-cookie"]).toEqual(["a=1; Expires=Wed, 21 Oct 2037 07:28:00 GMT", "b=2"]);
    expect(headers.vary).toBe("A, B");
    expect(headers["link"]).toBe("</a>, </b>");
  });

  test("drops headers of the service's connection", async () => {
    const { headers } = await send(
      url,
      answering("Connection", "close, X-Hop", "X-Hop", "1", "Proxy-Authenticate", "x"),
    );
    expect(headers).not.toHaveProperty("x-hop");
    expect(headers).not.toHaveProperty("proxy-authenticate");
  });

  test("keeps the bytes of its headers, including non-ASCII ones", async () => {
    const latin1 = Buffer.from("filename=é€", "utf8").toString("latin1");
    // The second path sends the headers before the body.
    for (const path of ["/", "/head-first"]) {
      const { rawHeaders } = await send(url, { path, ...answering("Content-Disposition", latin1) });
      expect(rawHeaders).toContain(latin1);
    }
  });
});
