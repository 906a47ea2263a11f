/** Broken HTTP/2 services: clients of both versions get an error, and no request hangs. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CallbackServer, startCallbackServer } from "../../../support/http/callback-server.ts";
import { openRequest, send } from "../../../support/http/clients.ts";
import { openHttp2, sendHttp2 } from "../../../support/http/http2-client.ts";
import { http2Service } from "../../../support/http/http2-service.ts";
import { entriesOf, eventsOf } from "../../../support/logs/log-entries.ts";
import { startLocal, type TestPlatform } from "../../../support/providers/local-platform.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

let callbacks: CallbackServer;
let platform: TestPlatform;
let url: string;

beforeAll(async () => {
  callbacks = await startCallbackServer();
  platform = await startLocal({ runner: "process", queue: 0 });
  const common = { use_http2: true, max_instances: 1, env: callbacks.env };
  url = await platform.up(http2Service, common);
  await platform.up(http2Service, { ...common, function_name: "hasty", timeout: 1 });
  await platform.up(http2Service, { ...common, function_name: "narrow", concurrency: 1 });
});

afterAll(async () => {
  await platform[Symbol.asyncDispose]();
  await callbacks[Symbol.asyncDispose]();
});

const shared = () => `http://127.0.0.1:${platform.local.ingressPort}`;
const at = (name: string) => ({ ":authority": `${name}.localhost` });
const up = () => eventually(async () => expect((await sendHttp2(url)).status).toBe(200));

/** Sends a request with either version. Returns the status, or `cut` for a truncated response. */
const outcome = (way: string, headers: Readonly<Record<string, string>>): Promise<number | "cut"> => {
  const name = headers[":authority"] as string;
  const path = headers[":path"] as string;
  const asked = way === "HTTP/2" ? sendHttp2(shared(), headers) : send(shared(), { path, headers: { host: name } });
  return asked.then(
    ({ status }) => status,
    () => "cut" as const,
  );
};

describe.each(["HTTP/1.1", "HTTP/2"])("for an %s client", (way) => {
  test.each(["/half-then-reset", "/half-then-hang-up", "/half-then-die"])(
    "truncates a broken response instead of leaving it open: %s",
    async (path) => {
      await up();
      expect(await outcome(way, { ...at("app"), ":path": path })).toBe("cut");
    },
  );

  test.each(["/reset", "/reset-without-error"])(
    "returns 502 for a stream that is reset before the response: %s",
    async (path) => {
      await up();
      expect(await outcome(way, { ...at("app"), ":path": path })).toBe(502);
    },
  );

  test("returns 504 after the timeout of a second and not before, or truncates a started response", async () => {
    for (const [path, end] of [
      ["/silent", 504],
      ["/half", "cut"],
    ] as const) {
      const startedAt = performance.now();
      expect(await outcome(way, { ...at("hasty"), ":path": path })).toBe(end);
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(999);
    }
  });

  test("returns 503 without a free place, and frees the place when the client disconnects", async () => {
    const name = { ...at("narrow"), ":path": "/hold" };
    const before = callbacks.seen("begun").length;
    const held =
      way === "HTTP/2"
        ? openHttp2(shared(), name)
        : openRequest(shared(), { path: "/hold", headers: { host: "narrow.localhost" } });
    if ("request" in held) held.request.end();
    await callbacks.reported("begun", before + 1);
    expect(await outcome(way, { ...at("narrow"), ":path": "/" })).toBe(503);
    if ("request" in held) held.request.destroy();
    else held.stream.close();
    await eventually(async () => expect(await outcome(way, { ...at("narrow"), ":path": "/" })).toBe(200));
  });

  test("opens a new session after the service has ended one", async () => {
    for (let count = 0; count < 5; count++) {
      await up();
      expect(await outcome(way, { ...at("app"), ":path": "/goodbye" })).toBe(200);
    }
  });
});

test("a service cannot push responses", async () => {
  await up();
  expect((await sendHttp2(url, { ":path": "/push" })).text).toBe("false");
});

test("logs every response, including refused and broken ones", async () => {
  const statuses = async (service: string) =>
    (await entriesOf(platform, service)).flatMap(({ http }) => (http === undefined ? [] : [http.status]));
  expect(await statuses("app")).toEqual(expect.arrayContaining([200, 502]));
  expect(await statuses("hasty")).toEqual(expect.arrayContaining([504]));
  expect(await statuses("narrow")).toEqual(expect.arrayContaining([499, 503]));
  // One request per client version.
  await eventually(async () => expect(await eventsOf(platform, "crashed")).toHaveLength(2));
});
