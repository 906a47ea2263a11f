/** How the proxy rewrites lists of headers. */
import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { requestHeaders, responseHeaders } from "../../../../adapters/local/ingress/headers.ts";

const forwarded = { requestId: "id-1", remoteIp: "127.0.0.1", scheme: "http" } as const;

/** A request as Node's parser returns it. */
const requestOf = (rawHeaders: readonly string[]): IncomingMessage => {
  const headers: Record<string, string> = {};
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] as string).toLowerCase();
    headers[name] = name in headers ? `${headers[name]}, ${rawHeaders[at + 1]}` : (rawHeaders[at + 1] as string);
  }
  return { rawHeaders, headers } as unknown as IncomingMessage;
};

const added = ["X-Request-Id", "id-1", "X-Forwarded-For", "127.0.0.1", "X-Forwarded-Proto", "http"];

describe("requestHeaders", () => {
  test("keeps order, case and repetitions", () => {
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
  ])("drops a connection header: %s", (name, value) => {
    expect(requestHeaders(requestOf([name, value]), forwarded)).toEqual(added);
  });

  test("drops headers that Connection lists, in any case", () => {
    const raw = ["Connection", "close, X-Hop , HTTP2-Settings", "x-hop", "1", "http2-settings", "AAA", "X-Kept", "2"];
    expect(requestHeaders(requestOf(raw), forwarded)).toEqual(["X-Kept", "2", ...added]);
  });

  test("appends the client's address to X-Forwarded-For", () => {
    const raw = ["X-Forwarded-For", "10.1.1.1", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "forged"];
    expect(requestHeaders(requestOf([...raw, "Host", "app.localhost:8080"]), forwarded)).toEqual([
      ...["Host", "app.localhost:8080", "X-Request-Id", "id-1", "X-Forwarded-For", "10.1.1.1, 127.0.0.1"],
      ...["X-Forwarded-Proto", "http", "X-Forwarded-Host", "app.localhost:8080"],
    ]);
  });

  test("returns one request id, the platform's", () => {
    const names = requestHeaders(requestOf(["x-request-id", "a", "X-Request-ID", "b"]), forwarded);
    expect(names).toEqual(added);
  });
});

describe("responseHeaders", () => {
  test("keeps headers, repeated ones as lists", () => {
    const headers = { "content-type": "text/plain", "set-cookie": ["a=1", "b=2"], vary: "a" };
    expect(responseHeaders(headers, "id-1", undefined)).toEqual({ ...headers, "x-request-id": "id-1" });
  });

  test("drops connection headers and those that Connection lists", () => {
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

  test("keeps the service's cookies next to the affinity cookie", () => {
    expect(responseHeaders({ "set-cookie": ["a=1"] }, "id-1", "sticky=1")["set-cookie"]).toEqual(["a=1", "sticky=1"]);
    expect(responseHeaders({}, "id-1", "sticky=1")["set-cookie"]).toEqual(["sticky=1"]);
  });

  test("returns the request id of the log, whatever the service sends", () => {
    expect(responseHeaders({ "x-request-id": "its own" }, "id-1", undefined)["x-request-id"]).toBe("id-1");
  });
});
