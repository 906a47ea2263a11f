/** The address, the scheme and the host that sign-in sees behind a proxy: only a trusted proxy can choose them. */
import { connect } from "node:net";
import { expect, test } from "vitest";
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import { serveApi, type TestApi } from "../../../support/http/api.ts";
import { detailOf } from "../../../support/http/refusals.ts";

const served = (trustProxy?: readonly string[]) =>
  serveApi(createMemoryProvider().ports, {}, trustProxy === undefined ? {} : { trustProxy });

/** Sends an invalid key. @param forwardedFor the header `X-Forwarded-For` */
const attempt = async (api: TestApi, forwardedFor: string, headers: Record<string, string> = {}): Promise<number> => {
  const options = { key: null, json: { key: "psk_wrong" }, headers: { "x-forwarded-for": forwardedFor, ...headers } };
  return (await api.call("POST", "/v1/console/sign-in", options)).status;
};

const untilLimited = async (api: TestApi, forwardedFor: (count: number) => string) => {
  for (let count = 0; count < 20; count++) expect(await attempt(api, forwardedFor(count))).toBe(401);
};

test.each([
  ["without trusted proxies", undefined],
  ["with an empty list", []],
  ["if another proxy is trusted", ["10.0.0.0/8"]],
])("a forged X-Forwarded-For does not evade the limit of sign-ins %s", async (_, trustProxy) => {
  await using api = await served(trustProxy);
  await untilLimited(api, (count) => `198.51.100.${count}`);
  expect(await attempt(api, "198.51.100.99")).toBe(429);
});

test.each([[["loopback"]], [["127.0.0.1"]], [["10.0.0.0/8", "127.0.0.0/8"]]])(
  "each client of the proxies %j has its own limit of sign-ins",
  async (trustProxy) => {
    await using api = await served(trustProxy);
    await untilLimited(api, () => "198.51.100.1");
    expect(await attempt(api, "198.51.100.1")).toBe(429);
    expect(await attempt(api, "198.51.100.2")).toBe(401);
    // The proxy appends the address of its client, so a client controls only the addresses before it.
    expect(await attempt(api, "198.51.100.77, 198.51.100.1")).toBe(429);
  },
);

test("several trusted proxies in a row forward the address of the client", async () => {
  await using api = await served(["loopback", "10.0.0.0/8"]);
  await untilLimited(api, () => "198.51.100.1, 10.0.0.7");
  expect(await attempt(api, "198.51.100.1, 10.0.0.8")).toBe(429);
  expect(await attempt(api, "198.51.100.2, 10.0.0.7")).toBe(401);
});

test("an invalid X-Forwarded-For from a trusted proxy counts as an address, and fails no request", async () => {
  await using api = await served(["loopback"]);
  for (const text of ["", ",", "unknown", "1.2.3.4.5", "x".repeat(5000)]) expect(await attempt(api, text)).toBe(401);
});

test("only a trusted proxy can state that the client's connection is encrypted", async () => {
  const headers = { "x-forwarded-proto": "https", "x-forwarded-host": "portside.example.com" };
  for (const [trustProxy, status] of [
    [["loopback"], 200],
    [["10.0.0.0/8"], 403],
    [[], 403],
  ] as const) {
    await using api = await served(trustProxy);
    const json = { key: await api.key() };
    const origin = "https://portside.example.com";
    const answer = await api.call("POST", "/v1/console/sign-in", { key: null, json, headers: { ...headers, origin } });
    expect(answer.status).toBe(status);
    if (status === 200) expect(answer.headers.get("set-cookie")).toMatch(/^__Host-portside_session=.*; Secure$/);
    else detailOf(answer, 403);
  }
});

test("a client that closes its connection early does not crash the server", async () => {
  await using api = await served(["loopback"]);
  const socket = connect(api.port, "127.0.0.1");
  const body = JSON.stringify({ key: "psk_wrong" });
  socket.end(
    `POST /v1/console/sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-Forwarded-For: 198.51.100.1\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  socket.destroy();
  expect(await attempt(api, "198.51.100.1")).toBe(401);
});
