/** A health check against real servers, over HTTP/1.1 and HTTP/2. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkHealth } from "../../../../adapters/local/instances/health-check.ts";
import type { HealthCheck } from "../../../../core/domain/deploy/health.ts";
import { Redactor } from "../../../../core/domain/secrets/redact.ts";

const preset: HealthCheck = { path: "/healthz?deep=1", interval: 60, timeout: 60, failures: 3 };
const noSecrets = new Redactor([]);
const never = new AbortController().signal;

const listen = async (server: Server): Promise<{ host: string; port: number }> => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
};

describe.each(["HTTP/1.1", "HTTP/2"])("over %s", (version) => {
  const useHttp2 = version === "HTTP/2";
  const check = async (handler: RequestListener, change: Partial<HealthCheck> = {}) => {
    const server = useHttp2 ? createHttp2Server(handler as never) : createServer(handler);
    return checkHealth(await listen(server), { ...preset, ...change }, useHttp2, never, noSecrets);
  };

  test.each([200, 204, 302, 399])("status %i is healthy, even with a long body", async (status) => {
    const result = await check((_request, response) => {
      response.writeHead(status);
      response.end(status === 204 ? "" : "x".repeat(100_000));
    });
    expect(result).toEqual({ healthy: true });
  });

  test.each([400, 404, 500, 503])("status %i is unhealthy, with the beginning of the body", async (status) => {
    const result = await check((_request, response) => {
      response.writeHead(status);
      response.end("no database ".repeat(1000));
    });
    const body = "no database ".repeat(100).slice(0, 1024).trim();
    expect(result).toEqual({ healthy: false, problem: `responded with status ${status}: ${body}` });
  });

  test("removes a value from the body, even at the cut", async () => {
    const secret = `${"v".repeat(200_000)}\n`;
    const handler: RequestListener = (_request, response) => {
      response.writeHead(503);
      response.end(`${"x".repeat(1000)} ${JSON.stringify(secret)} after ${secret}`);
    };
    const server = useHttp2 ? createHttp2Server(handler as never) : createServer(handler);
    const result = await checkHealth(await listen(server), preset, useHttp2, never, new Redactor([secret]));
    expect(result).toEqual({
      healthy: false,
      problem: `responded with status 503: ${"x".repeat(1000)} "[secret]`,
    });
  });

  test("an unhealthy status without a body names the status only", async () => {
    const result = await check((_request, response) => void response.writeHead(503).end());
    expect(result).toEqual({ healthy: false, problem: "responded with status 503" });
  });

  test("sends the path, the user agent and the host", async () => {
    const seen: unknown[] = [];
    const handler: RequestListener = (request, response) => {
      const { method, url, headers } = request;
      seen.push([method, url, headers["user-agent"], headers.host ?? headers[":authority"]]);
      response.end();
    };
    await check(handler);
    await check(handler, { host: "example.com" });
    expect(seen).toEqual([
      ["GET", "/healthz?deep=1", "portside-health", expect.stringMatching(/^127\.0\.0\.1:\d+$/)],
      ["GET", "/healthz?deep=1", "portside-health", "example.com"],
    ]);
  });

  test("a service that does not respond in time is unhealthy", async () => {
    expect(await check(() => undefined, { timeout: 1 })).toEqual({
      healthy: false,
      problem: "did not respond within 1 s",
    });
  });

  test("a body that does not end does not delay the result", async () => {
    expect(await check((_request, response) => void response.writeHead(200).write("x"))).toEqual({ healthy: true });
    const stuck = await check((_request, response) => void response.writeHead(500).write("x"), { timeout: 5 });
    expect(stuck).toEqual({ healthy: false, problem: "responded with status 500" });
  });

  test("a closed port and a closed connection are unhealthy", async () => {
    const address = await listen(createTcpServer((socket) => socket.destroy()));
    const dropped = await checkHealth(address, { ...preset, timeout: 1 }, useHttp2, never, noSecrets);
    expect(dropped).toMatchObject({ healthy: false });
    const closed = await checkHealth({ host: "127.0.0.1", port: 1 }, preset, useHttp2, never, noSecrets);
    expect(closed).toEqual({ healthy: false, problem: "got no response (ECONNREFUSED)" });
  });

  test("stops when its caller aborts", async () => {
    const address = await listen(createTcpServer(() => undefined));
    const result = await checkHealth(address, { ...preset, timeout: 60 }, useHttp2, AbortSignal.timeout(50), noSecrets);
    expect(result).toEqual({ healthy: false, problem: "did not respond" });
  });
});
