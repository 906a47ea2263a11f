/** Converts a served request to a log entry with the fields that filters use. */
import { expect, test } from "vitest";
import { requestEntry, type ServedRequest } from "../../../../adapters/local/ingress/request-log.ts";
import { type AccountId, parseAccount } from "../../../../core/domain/accounts/account.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";

const service = { owner: parseAccount("acme") as AccountId, name: "shop" as DeploymentName };

const served: ServedRequest = {
  method: "GET",
  scheme: "http",
  target: "/cart?item=1",
  host: "shop.localhost:8080",
  status: 200,
  responseBytes: 17,
  userAgent: "curl/8",
  remoteIp: "127.0.0.1",
  protocol: "HTTP/1.1",
  requestId: "id-1",
  traceparent: "00-a-b-01",
  millis: 1234.5678,
  instance: "i1",
};

test("contains everything known about a request", () => {
  expect(requestEntry(service, "r1", served)).toEqual({
    owner: "acme",
    service: "shop",
    severity: "INFO",
    logName: "requests",
    revision: "r1",
    instance: "i1",
    json: { request_id: "id-1", traceparent: "00-a-b-01" },
    http: {
      requestMethod: "GET",
      requestUrl: "http://shop.localhost:8080/cart?item=1",
      status: 200,
      responseSize: 17,
      userAgent: "curl/8",
      remoteIp: "127.0.0.1",
      protocol: "HTTP/1.1",
      latency: "1.234568s",
    },
  });
});

test("omits unknown values", () => {
  const entry = requestEntry(service, undefined, {
    ...served,
    userAgent: undefined,
    traceparent: undefined,
    instance: undefined,
  });
  expect(entry).not.toHaveProperty("revision");
  expect(entry).not.toHaveProperty("instance");
  expect(entry.json).toEqual({ request_id: "id-1" });
  expect(entry.http).not.toHaveProperty("userAgent");
});

test.each([
  [200, "INFO"],
  [304, "INFO"],
  [399, "INFO"],
  [400, "WARNING"],
  [499, "WARNING"],
  [500, "ERROR"],
  [504, "ERROR"],
] as const)("a request with status %i has the severity %s", (status, severity) => {
  expect(requestEntry(service, "r1", { ...served, status }).severity).toBe(severity);
});
