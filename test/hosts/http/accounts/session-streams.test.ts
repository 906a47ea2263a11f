/** When a session or its key is revoked, the session's open responses end, and those of other sessions do not. */
import { once } from "node:events";
import { request } from "node:http";
import { connect, constants } from "node:http2";
import type { AddressInfo } from "node:net";
import Fastify from "fastify";
import { expect, test } from "vitest";
import { wrapPort } from "../../../../adapters/decorators/decorate-port.ts";
import { createManualClock, createMemoryProvider, type ManualClock } from "../../../../adapters/memory/index.ts";
import type { Ports } from "../../../../core/ports/provider.ts";
import type { Sessions } from "../../../../core/ports/sessions.ts";
import { ResultAsync } from "../../../../core/result.ts";
import { portside } from "../../../../hosts/http/index.ts";
import { sourceOf } from "../../../support/archives/archives.ts";
import { serveApi, type TestApi } from "../../../support/http/api.ts";
import { type BrowserSession, signIn } from "../../../support/http/browser-session.ts";
import { deployForm } from "../../../support/http/record-stream.ts";
import { holdBuilds } from "../../../support/providers/held-build.ts";

/** A manual clock that counts the sleeps in progress. */
const createCountingClock = (): ManualClock & { sleeping(): number } => {
  const clock = createManualClock();
  let sleeping = 0;
  return {
    ...clock,
    sleep: async (millis, signal) => {
      sleeping++;
      await clock.sleep(millis, signal);
      sleeping--;
    },
    sleeping: () => sleeping,
  };
};

const start = async (adjust: (ports: Ports) => Ports = (ports) => ports) => {
  const clock = createCountingClock();
  const held = holdBuilds(createMemoryProvider({ clock }).ports);
  const api = await serveApi(adjust(held.ports));
  const { key, id: keyId } = (await api.call("POST", "/v1/key/create", { json: { label: "old" } })).json;
  const [page, kept] = [await signIn(api, key), await signIn(api, await api.key())];
  return {
    api,
    clock,
    held,
    keyId: keyId as string,
    page,
    kept,
    [Symbol.asyncDispose]: async () => {
      held.release();
      await api[Symbol.asyncDispose]();
    },
  };
};

const revoke = async (api: TestApi, what: string, page: BrowserSession, keyId: string): Promise<void> => {
  const { sessions } = (await page.call("GET", "/v1/console/sessions")).json;
  const { id } = sessions.find(({ current }: { current: boolean }) => current);
  const [path, json] = what === "key" ? ["/v1/key/revoke", { id: keyId }] : ["/v1/console/revoke", { id }];
  expect((await api.call("POST", path, { json })).status).toBe(200);
};

/** The longest time from a revocation to the end of a response: the interval and the deadline of the checks. */
const LATEST_MS = 8000;

test.each(["session", "key"])("a deploy's stream ends within ten seconds after its %s is revoked", async (what) => {
  await using started = await start();
  const { api, clock, held, keyId, page, kept } = started;
  const follow = async ({ headers }: BrowserSession, name: string) => {
    const body = deployForm({ function_name: name, volumes: "{}" }, sourceOf({ "index.js": "run()" }));
    const response = await fetch(`${api.url}/v1/deploy`, { method: "POST", headers, body });
    expect(response.status).toBe(200);
    return response.text().then(
      (text) => text,
      () => "disconnected",
    );
  };
  const revoked = follow(page, "revoked");
  await held.waiting;
  const other = follow(kept, "kept");
  await expect.poll(async () => (await kept.call("GET", "/v1/deploys")).json.deploys.length).toBe(2);
  await revoke(api, what, page, keyId);
  await clock.advance(LATEST_MS);
  expect(await revoked).toBe("disconnected");
  held.release();
  expect(await other).toContain('"DONE"');
});

test.each(["session", "key"])(
  "a wait for log entries ends within ten seconds after its %s is revoked",
  async (what) => {
    await using started = await start();
    const { api, clock, held, keyId, page, kept } = started;
    held.release();
    await api.deploy({ function_name: "quiet", volumes: "{}" }, sourceOf({ "index.js": "run()" }));
    const { cursor } = (await api.call("POST", "/v1/deployment/logs", { json: { deployment_name: "quiet" } })).json;
    const json = { deployment_name: "quiet", since: cursor, wait: 25, query: "no such text" };
    const before = clock.sleeping();
    const wait = (session: BrowserSession) =>
      session.call("POST", "/v1/deployment/logs", { json }).then(
        ({ status }) => status,
        () => "disconnected",
      );
    const [revoked, other] = [wait(page), wait(kept)];
    // Each request sleeps until its wait ends, and until the next check of its session.
    await expect.poll(() => clock.sleeping()).toBe(before + 4);
    await revoke(api, what, page, keyId);
    await clock.advance(LATEST_MS);
    // The wait authenticates the request again before it responds.
    expect(await revoked).toBe(401);
    await clock.advance(25_000);
    expect(await other).toBe(200);
  },
);

test("a revoked key ends the session on another replica, with its open streams", async () => {
  await using started = await start();
  const { api, clock, held, keyId, page } = started;
  held.release();
  await api.deploy({ function_name: "quiet", volumes: "{}" }, sourceOf({ "index.js": "run()" }));
  await using replica = await serveApi(held.ports);
  const onReplica = (json: object) =>
    replica.call("POST", "/v1/deployment/logs", { key: null, headers: page.headers, json }).then(
      ({ status }) => status,
      () => "disconnected",
    );
  const first = await replica.call("POST", "/v1/deployment/logs", {
    key: null,
    headers: page.headers,
    json: { deployment_name: "quiet" },
  });
  const before = clock.sleeping();
  const json = { deployment_name: "quiet", since: first.json.cursor, wait: 25, query: "no such text" };
  const waiting = onReplica(json);
  await expect.poll(() => clock.sleeping()).toBe(before + 2);
  await revoke(api, "key", page, keyId);
  await clock.advance(LATEST_MS);
  expect(await waiting).toBe(401);
  expect(await onReplica({ deployment_name: "quiet" })).toBe(401);
});

test("an HTTP/2 request ends too, and its connection stays open", async () => {
  await using started = await start();
  const { api, clock, held, keyId, page } = started;
  held.release();
  await api.deploy({ function_name: "quiet", volumes: "{}" }, sourceOf({ "index.js": "run()" }));
  const { cursor } = (await api.call("POST", "/v1/deployment/logs", { json: { deployment_name: "quiet" } })).json;
  const before = clock.sleeping();
  const connection = connect(api.url);
  const stream = connection.request({
    ":method": "POST",
    ":path": "/v1/deployment/logs",
    "content-type": "application/json",
    ...page.headers,
  });
  stream.end(JSON.stringify({ deployment_name: "quiet", since: cursor, wait: 25, query: "no such text" }));
  const ended = once(stream, "close");
  await expect.poll(() => clock.sleeping()).toBe(before + 2);
  await revoke(api, "session", page, keyId);
  await clock.advance(LATEST_MS);
  await ended;
  expect([stream.rstCode, connection.closed]).toEqual([constants.NGHTTP2_CANCEL, false]);
  connection.close();
});

test("a client that disconnects during authentication leaves no check of its session", async () => {
  const entered = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const handled = Promise.withResolvers<void>();
  const watch = (ports: Ports): Ports => {
    const { identity, provider } = ports;
    const sessions = wrapPort(identity.sessions as Sessions, (name, method, args) => {
      if (name !== "authenticate") return method(...args);
      entered.resolve();
      return new ResultAsync(release.promise.then(() => method(...args) as ReturnType<Sessions["authenticate"]>));
    });
    const services = wrapPort(provider.services, (name, method, args) => {
      if (name === "list") handled.resolve();
      return method(...args);
    });
    return { ...ports, identity: { ...identity, sessions }, provider: { ...provider, services } };
  };
  await using started = await start(watch);
  const { api, clock, page } = started;
  const app = Fastify();
  const closed = Promise.withResolvers<void>();
  app.addHook("onRequest", (_request, reply, done) => {
    reply.raw.once("close", () => closed.resolve());
    done();
  });
  // biome-ignore lint/nursery/noMisusedPromises: a plugin may be asynchronous; the type has an overload for it
  await app.register(portside, { controlPlane: api.controlPlane });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const before = clock.sleeping();
  const leaving = request({
    port: (app.server.address() as AddressInfo).port,
    path: "/v1/deployment/list",
    headers: page.headers,
  });
  leaving.on("error", () => undefined);
  leaving.end();
  await entered.promise;
  leaving.destroy();
  await closed.promise;
  release.resolve();
  await handled.promise;
  expect(clock.sleeping()).toBe(before);
  await app.close();
});
