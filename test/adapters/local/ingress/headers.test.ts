/** What the proxy changes in headers, seen on the lists themselves. */
import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { requestHeaders, responseHeaders } from "../../../../adapters/local/ingress/headers.ts";

const forwarded = { requestId: "id-1", remoteIp: "127.0.0.1", scheme: "http" } as const;

/** A request as Node's parser shows it. */
const requestOf = (rawHeaders: readonly string[]): IncomingMessage => {
  const headers: Record<string, string> = {};
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] as string).toLowerCase();
    headers[name] = name in headers ? `${headers[name]}, ${rawHeaders[at + 1]}` : (rawHeaders[at + 1] as string);
  }
  return { rawHeaders, headers } as unknown as IncomingMessage;
};

const added = ["X-Request-Id", "id-1", "X-Forwarded-For", "127.0.0.1", "X-Forwarded-Proto", "http"];

describe("request headers", () => {
  test("pass in their order, in their letters, as often as they came", () => {
    const raw = ["Host", "a", "X-B", "1", "x-a", "2", "X-B", "3", "Cookie", "a=b"];
    expect(requestHeaders(requestOf(raw), forwarded)).toEqual([...raw, ...added, "X-Forwarded-Host", "a"]);
  });

  test.each([
    ["Connection", "keep-alive"],
    ["Keep-Alive", "timeout=5"],
    ["Proxy-Authorization", "Basic eA=="],
    ["Proxy-Connection", "keep-alive"],
    ["TE", "trailers"],
    ["Trailer", "X-Sum"],
    ["Transfer-Encoding", "chunked"],
    ["Upgrade", "h2c"],
    ["Expect", "100-continue"],
  ])("of the connection stay behind: %s", (name, value) => {
    expect(requestHeaders(requestOf([name, value]), forwarded)).toEqual(added);
  });

  test("that the connection names stay behind, in whatever letters", () => {
    const raw = ["Connection", "close, X-Hop , HTTP2-Settings", "x-hop", "1", "http2-settings", "AAA", "X-Kept", "2"];
    expect(requestHeaders(requestOf(raw), forwarded)).toEqual(["X-Kept", "2", ...added]);
  });

  test("say who asked, after those who said so before", () => {
    const raw = ["X-Forwarded-For", "10.1.1.1", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "forged"];
    expect(requestHeaders(requestOf([...raw, "Host", "app.localhost:8080"]), forwarded)).toEqual([
      ...["Host", "app.localhost:8080", "X-Request-Id", "id-1", "X-Forwarded-For", "10.1.1.1, 127.0.0.1"],
      ...["X-Forwarded-Proto", "http", "X-Forwarded-Host", "app.localhost:8080"],
    ]);
  });

  test("carry one request id, ours", () => {
    const names = requestHeaders(requestOf(["x-request-id", "a", "X-Request-ID", "b"]), forwarded);
    expect(names).toEqual(added);
  });
});

describe("response headers", () => {
  test("pass, repeated ones as lists", () => {
    const headers = { "content-type": "text/plain", "set-cookie": ["a=1", "b=2"], vary: "a" };
    expect(responseHeaders(headers, "id-1", undefined)).toEqual({ ...headers, "x-request-id": "id-1" });
  });

  test("of the connection, and those that it names, stay behind", () => {
    const headers = {
      connection: "close, X-Hop",
      "x-hop": "1",
      "keep-alive": "timeout=5",
      "transfer-encoding": "chunked",
    };
    expect(responseHeaders({ ...headers, trailer: "x", upgrade: "h2" }, "id-1", undefined)).toEqual({
      "x-request-id": "id-1",
    });
  });

  test("the service's cookies and the affinity's go side by side", () => {
    expect(responseHeaders({ "set-cookie": ["a=1"] }, "id-1", "sticky=1")["set-cookie"]).toEqual(["a=1", "sticky=1"]);
    expect(responseHeaders({}, "id-1", "sticky=1")["set-cookie"]).toEqual(["sticky=1"]);
  });

  test("the id of the request is the one that the log has, whatever the service says", () => {
    expect(responseHeaders({ "x-request-id": "its own" }, "id-1", undefined)["x-request-id"]).toBe("id-1");
  });
});
