/** The plugin in another application: it serves its routes under its prefix, and does not affect other routes. */
import Fastify, { type FastifyInstance } from "fastify";
import { afterEach, describe, expect, test } from "vitest";
import { createMemoryProvider } from "../../../adapters/memory/index.ts";
import { createControlPlane } from "../../../core/control-plane.ts";
import { type AccountId, parseAccount } from "../../../core/domain/accounts/account.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { type PortsideOptions, portside } from "../../../hosts/http/index.ts";
import { createEndlessSleepClock } from "../../support/clocks/endless-sleep.ts";

let app: FastifyInstance;
afterEach(() => app.close());

const register = (options: PortsideOptions & { readonly prefix?: string }) =>
  // biome-ignore lint/nursery/noMisusedPromises: a plugin may be asynchronous; the type says so through an overload
  app.register(portside, options);

/** Starts an application with its own routes and hooks, and Portside under the prefix. */
const embed = async (prefix = "") => {
  const memory = createMemoryProvider();
  const controlPlane = createControlPlane(memory.ports);
  app = Fastify();
  app.addContentTypeParser("text/x-own", { parseAs: "string" }, (_request, body, done) => done(null, { own: body }));
  app.setErrorHandler((error: Error, _request, reply) => reply.code(418).send({ teapot: error.message }));
  app.setNotFoundHandler((_request, reply) => reply.code(404).send("own 404"));
  app.addHook("onSend", async (_request, reply) => void reply.header("x-own", "yes"));
  await register({ controlPlane, prefix });
  app.post("/echo", async (request) => ({ got: request.body ?? null }));
  app.get("/fail", async () => {
    throw new Error("own failure");
  });
  app.get("/", async () => "own page");
  app.get("/health", async () => "own health");
  app.put("/v1/own", async () => "own path next to ours");
  const made = await memory.identity.keys.create(parseAccount("acme") as AccountId, "test");
  return { key: made._unsafeUnwrap().key, controlPlane };
};

const call = (method: "GET" | "POST" | "PUT", url: string, headers: Record<string, string> = {}, payload?: string) =>
  app.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) });

test("a closing application ends the requests that wait for a log entry", async () => {
  const memory = createMemoryProvider();
  const clock = createEndlessSleepClock(memory.ports.clock);
  const controlPlane = createControlPlane({ ...memory.ports, clock });
  const [owner, service] = ["acme" as AccountId, "app" as DeploymentName];
  const line = { owner, service, severity: "INFO", logName: "stdout", text: "one" } as const;
  expect((await memory.provider.logs.append([line])).isOk()).toBe(true);
  app = Fastify();
  await register({ controlPlane, caller: () => ({ account: owner, credentialId: "test" }) });
  const since = new Date(Date.now() + 3_600_000).toISOString();
  const request = JSON.stringify({ deployment_name: service, since, wait: 25 });
  const held = call("POST", "/v1/deployment/logs", { "content-type": "application/json" }, request);
  await expect.poll(() => clock.sleeping()).toBe(1);
  await app.close();
  expect((await held).json()).toMatchObject({ logs: [] });
});

describe.each(["", "/platform", "/a/b"])("under %j", (prefix) => {
  test("the API works, and its errors have its format", async () => {
    const { key } = await embed(prefix);
    const list = await call("GET", `${prefix}/v1/deployment/list`, { "x-api-key": key });
    expect([list.statusCode, list.json()]).toEqual([200, []]);
    expect(list.headers["x-request-id"]).toMatch(/./);
    const refused = await call("GET", `${prefix}/v1/deployment/list`);
    expect([refused.statusCode, Object.keys(refused.json())]).toEqual([401, ["detail"]]);
    const json = { "x-api-key": key, "content-type": "application/json" };
    const twice = await call("POST", `${prefix}/v1/deployment/delete`, json, '{"name":"a","name":"b"}');
    expect([twice.statusCode, twice.json().detail[0].type]).toEqual([422, "json_invalid"]);
    const other = await call("PUT", `${prefix}/v1/deployment/list`, { "x-api-key": key });
    expect([other.statusCode, other.headers["allow"]]).toEqual([405, "GET, HEAD"]);
  });

  test("the document and its page exist, with the prefix", async () => {
    await embed(prefix);
    const document = (await call("GET", `${prefix}/openapi.json`)).json();
    expect(document.servers).toEqual([{ url: prefix === "" ? "/" : prefix }]);
    expect(Object.keys(document.paths)).not.toContain("/health");
    const page = await call("GET", `${prefix}/docs`);
    expect([page.statusCode, page.headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    expect(page.body).toContain(`href="${prefix}/openapi.json"`);
  });

  test("the application keeps its routes", async () => {
    await embed(prefix);
    expect((await call("GET", "/")).body).toBe("own page");
    expect((await call("GET", "/health")).body).toBe("own health");
    expect((await call("PUT", "/v1/own")).body).toBe("own path next to ours");
    const answer = await call("GET", "/health", { "x-request-id": "mine" });
    expect(answer.headers["x-request-id"]).toBeUndefined();
    expect(answer.headers["x-own"]).toBe("yes");
  });

  test("the application keeps its body parsers", async () => {
    await embed(prefix);
    const echo = async (type: string, body: string) =>
      (await call("POST", "/echo", { "content-type": type }, body)).json();
    expect(await echo("text/x-own", "hi")).toEqual({ got: { own: "hi" } });
    expect(await echo("application/json", '{"a":1,"a":2}')).toEqual({ got: { a: 2 } });
    expect(await echo("text/plain", "plain")).toEqual({ got: "plain" });
    expect((await call("POST", "/echo", { "content-type": "multipart/form-data" }, "x")).statusCode).toBe(418);
  });

  test("the application keeps its errors and its 404", async () => {
    await embed(prefix);
    expect((await call("GET", "/fail")).json()).toEqual({ teapot: "own failure" });
    expect((await call("GET", "/nothing")).body).toBe("own 404");
    expect((await call("GET", `${prefix}/v1/nothing`)).body).toBe("own 404");
  });
});

test("serves the pages in an application that ignores trailing slashes", async () => {
  app = Fastify({ routerOptions: { ignoreTrailingSlash: true } });
  await register({ controlPlane: createControlPlane(createMemoryProvider().ports) });
  for (const url of ["/docs", "/docs/"]) expect((await call("GET", url)).statusCode).toBe(200);
});

test("registers twice in one application, for two control planes", async () => {
  await embed("/one");
  await app.close();
  const [one, two] = [createMemoryProvider(), createMemoryProvider()];
  app = Fastify();
  await register({ controlPlane: createControlPlane(one.ports), prefix: "/one" });
  await register({ controlPlane: createControlPlane(two.ports), prefix: "/two" });
  const made = await one.identity.keys.create(parseAccount("acme") as AccountId, "test");
  const headers = { "x-api-key": made._unsafeUnwrap().key };
  expect((await call("GET", "/one/v1/deployment/list", headers)).statusCode).toBe(200);
  expect((await call("GET", "/two/v1/deployment/list", headers)).statusCode).toBe(401);
});

test("callers that the application authenticates need no key, but others do", async () => {
  const { key, controlPlane } = await embed();
  await app.close();
  app = Fastify();
  const account = parseAccount("theirs") as AccountId;
  await register({
    controlPlane,
    caller: ({ headers }) => (headers.cookie === "session=1" ? { account, credentialId: "session" } : undefined),
  });
  const list = (headers: Record<string, string>) => call("GET", "/v1/volume/list", headers);
  (await controlPlane.createVolume({ account, credentialId: "test" }, { name: "data" }))._unsafeUnwrap();
  expect((await list({ cookie: "session=1" })).json()).toMatchObject([{ name: "data" }]);
  expect((await list({ cookie: "session=2" })).statusCode).toBe(401);
  expect((await list({ "x-api-key": key })).json()).toEqual([]);
  expect((await call("PUT", "/v1/volume/list", { cookie: "session=1" })).statusCode).toBe(405);
});

test("omits its pages and adds its health endpoints if requested", async () => {
  const { controlPlane } = await embed();
  await app.close();
  app = Fastify();
  await register({ controlPlane, documents: false, health: true });
  expect((await call("GET", "/docs")).statusCode).toBe(404);
  expect((await call("GET", "/openapi.json")).statusCode).toBe(404);
  expect((await call("GET", "/health")).json()).toEqual({ status: "ok" });
});

test.each(["4.29.1", "6.0.0"])("rejects Fastify %s", async (version) => {
  app = Fastify();
  const controlPlane = createControlPlane(createMemoryProvider().ports);
  await expect(portside(Object.create(app, { version: { value: version } }), { controlPlane })).rejects.toThrow(
    `portside/http needs Fastify 5, but the application has ${version}. Install fastify@5.`,
  );
});
