/**
 * A server that stops: running streams end with `interrupted`, new requests fail, and idle connections do not delay it.
 */
import { once } from "node:events";
import { expect, test } from "vitest";
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import { createControlPlane } from "../../../../core/control-plane.ts";
import { type AccountId, parseAccount } from "../../../../core/domain/accounts/account.ts";
import { createPino } from "../../../../hosts/composition/logger.ts";
import { createServer } from "../../../../hosts/http/server/server.ts";
import { sourceOf } from "../../../support/archives/archives.ts";
import type { TestApi } from "../../../support/http/api.ts";
import { openRaw, send } from "../../../support/http/clients.ts";
import { deployForm, openRecords } from "../../../support/http/record-stream.ts";
import { type HoldOptions, holdBuilds } from "../../../support/providers/held-build.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

const start = async (options: HoldOptions = {}) => {
  const memory = createMemoryProvider();
  const held = holdBuilds(memory.ports, options);
  const controlPlane = createControlPlane(held.ports);
  const app = await createServer({ controlPlane, logger: createPino("silent"), hstsSeconds: 60 });
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  const made = await memory.identity.keys.create(parseAccount("acme") as AccountId, "test");
  return { app, url, held, memory, key: made._unsafeUnwrap().key };
};

const form = () => deployForm({ function_name: "app", volumes: "{}" }, sourceOf({ "index.js": "run()" }));

test("ends running and queued deploys with `interrupted`, and each stream with its last record", async () => {
  const { app, url, key, held, memory } = await start();
  const streams = [];
  for (let n = 0; n < 3; n++) streams.push(await openRecords({ url } as TestApi, "/v1/deploy", { key, form: form() }));
  await held.waiting;
  await app.close();
  for (const stream of streams)
    expect((await stream.rest()).at(-1)).toMatchObject({ status: "ERROR", reason: "interrupted" });
  expect(memory.snapshot().services.size).toBe(0);
});

test("returns 503 with Retry-After while it waits for its deploys", async () => {
  const { app, url, key, held } = await start({ ignoresAbort: true });
  const stream = await openRecords({ url } as TestApi, "/v1/deploy", { key, form: form() });
  await held.waiting;
  app.server.on("connection", (socket) => Object.defineProperty(socket, "encrypted", { value: true }));
  const closed = app.close();
  const headers = { "x-api-key": key, "x-request-id": "mine" };
  for (const path of ["/v1/deployment/list", "/health", "/nothing"])
    await eventually(async () => {
      const answer = await send(url, { path, headers });
      expect(answer.status).toBe(503);
      expect(answer.headers["retry-after"]).toBe("5");
      expect(answer.headers["strict-transport-security"]).toBe("max-age=60");
      expect(answer.headers["x-request-id"]).toBe("mine");
      expect(JSON.parse(answer.text)).toEqual({ detail: "The server is stopping. Retry after 5 seconds." });
    });
  held.release();
  await closed;
  expect((await stream.rest()).at(-1)).toMatchObject({ status: "ERROR", reason: "interrupted" });
  await expect(send(url, { path: "/health" })).rejects.toThrow();
});

test("does not wait for connections that are idle or become idle", async () => {
  const { app, url } = await start();
  const [idle, busy] = [openRaw(url), openRaw(url)];
  idle.socket.write("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
  await idle.received('"ok"');
  // The server responds to the headers. The client still sends the body, which the server does not read.
  busy.socket.write("POST /v1/sql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n");
  await busy.received("401");
  const closed = app.close();
  busy.socket.write("0123456789");
  await closed;
  await Promise.all([idle.closed, busy.closed]);
});

test("does not wait for a connection without a request", async () => {
  const { app, url } = await start();
  const ahead = openRaw(url);
  await once(ahead.socket, "connect");
  const ended = once(ahead.socket, "close");
  await app.close();
  await ended;
});
