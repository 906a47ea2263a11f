/** The client's methods against the HTTP API on the memory provider. */
import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { expect, expectTypeOf, test } from "vitest";
import type { z } from "zod";
import type { ControlPlane } from "../../../core/control-plane.ts";
import { ApiError, type ClientOptions, ConnectionError, createClient } from "../../../hosts/client/index.ts";
import { operations } from "../../../hosts/client/operations.ts";
import { endpoints, type KnownEndpoint } from "../../../hosts/http/endpoints.ts";
import { sourceOf } from "../../support/archives/archives.ts";
import { serveMemory } from "../../support/http/api.ts";
import { createTestAuthority } from "../../support/tls/test-authority.ts";

const start = async () => {
  const api = await serveMemory();
  const client = createClient({ url: api.url, key: await api.key() });
  return { api, client, [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() };
};

const source = () => new Blob([new Uint8Array(sourceOf({ "index.js": "run()" }))]);

test("has one operation for each endpoint, with its method, path, kind and whether it has fields", () => {
  expect(operations).toEqual(
    Object.fromEntries(
      endpoints.map(({ operation, method, path, kind, fields }) => [
        operation,
        { method, path, kind, fields: Object.keys(fields).length > 0 },
      ]),
    ),
  );
});

test("each operation has the name of a method of the control plane, which the endpoint calls", async () => {
  await using api = await serveMemory();
  for (const endpoint of endpoints) {
    const called: string[] = [];
    const spy = new Proxy({} as ControlPlane, {
      get: (_target, name) => {
        called.push(String(name));
        return () => undefined;
      },
    });
    const { signal } = new AbortController();
    const client = {
      address: "::1",
      base: "",
      isEncrypted: true,
      isLoopback: true,
      session: undefined,
      console: { supported: true, sign_in: [] },
    };
    const run = (): unknown => {
      if (endpoint.kind === "json") return endpoint.run(spy, {} as never, {}, { signal, client });
      return endpoint.kind === "redeploy" ? endpoint.start(spy, {} as never, {}) : called.push(endpoint.operation);
    };
    run();
    expect(called).toEqual([endpoint.operation]);
    expect(api.controlPlane).toHaveProperty(endpoint.operation);
  }
});

test("deploys a source, and reads the deployment, its log and its SQL rows", async () => {
  await using started = await start();
  const { client } = started;
  const records = await Array.fromAsync(
    await client.deploy({ function_name: "my-app", volumes: {}, env: { LEVEL: "1" }, source_archive: source() }),
  );
  expect(records.map(({ status }) => status)).toEqual(expect.arrayContaining(["BUILDING", "DEPLOYING", "DONE"]));
  expect(records.at(-1)?.url).toBe("https://my-app.memory.invalid");
  expect((await client.listDeployments()).map(({ name, env }) => [name, env])).toEqual([["my-app", ["LEVEL"]]]);
  expect((await client.getDeployment({ name: "my-app" })).status).toBe("READY");
  const page = await client.readLogs({ deployment_name: "my-app", query: "logName:platform" });
  expect(page).toMatchObject({ partial: false, cursor: expect.any(String) });
  expect((await client.listDeploys({ limit: 5 })).deploys[0]?.deploy_id).toBe(records[0]?.deploy_id);
  expect(await client.runSql({ query: "SELECT 1 AS one" })).toEqual({
    columns: [{ name: "one", type: "INT64" }],
    rows: [{ one: 1 }],
  });
  expect((await client.plan({ function_name: "my-app", volumes: {} })).action).toBe("update");
});

test("sends a source that is a stream with its length", async () => {
  await using started = await start();
  const bytes = sourceOf({ "index.js": "run()" });
  const stream = async function* () {
    yield bytes.subarray(0, 10);
    yield bytes.subarray(10);
  };
  const records = await started.client.deploy({
    function_name: "streamed",
    volumes: {},
    source_archive: { size: bytes.length, stream },
  });
  expect((await Array.fromAsync(records)).at(-1)?.status).toBe("DONE");
});

test("restarts a deployment and follows the deploy from a record", async () => {
  await using started = await start();
  const { client } = started;
  await Array.fromAsync(await client.deploy({ function_name: "app", volumes: {}, source_archive: source() }));
  const records = await Array.fromAsync(await client.restartDeployment({ name: "app" }));
  expect(records.at(-1)?.status).toBe("DONE");
  const deploy_id = records[0]?.deploy_id ?? "";
  expect(await Array.fromAsync(client.followDeploy({ deploy_id }))).toEqual(records);
  expect(await Array.fromAsync(client.followDeploy({ deploy_id, after: 1 }))).toEqual(records.slice(1));
});

test("throws the error of the platform with its code, fields and next step", async () => {
  await using started = await start();
  const { client, api } = started;
  const missing = await client.getDeployment({ name: "none" }).catch((error: unknown) => error);
  expect(missing).toBeInstanceOf(ApiError);
  expect(missing).toMatchObject({ code: "not_found", status: 404, message: "The deployment 'none' does not exist." });
  const invalid = await client
    .plan({ function_name: "my-app", volumes: {}, port: 0, cpu: 0 })
    .catch((error: unknown) => error);
  expect(invalid).toMatchObject({
    code: "invalid_input",
    field: "port",
    issues: [{ field: "port" }, { field: "cpu" }],
  });
  expect(String(invalid)).toContain("  port: must be an integer from 1 to 65535; got 0");
  const refused = createClient({ url: api.url, key: "psk_wrong" });
  await expect(refused.listVolumes()).rejects.toMatchObject({
    code: "unauthenticated",
    nextStep: "Check the API key.",
    message: expect.stringMatching(/Check the API key\.$/),
  });
  await expect(Array.fromAsync(client.followDeploy({ deploy_id: "none" }))).rejects.toMatchObject({ status: 404 });
});

test("throws a connection error if the server does not respond, and the signal's reason if it aborts", async () => {
  const client = createClient({ url: "http://127.0.0.1:1", key: "psk_x" });
  await expect(client.listVolumes()).rejects.toBeInstanceOf(ConnectionError);
  const reason = new Error("left");
  await expect(client.listVolumes({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});

test("states the problem if the certificate of the server is missing or not trusted", async () => {
  const { chain, privateKey } = createTestAuthority().issue("localhost");
  const server = createTlsServer({ cert: chain, key: privateKey }).listen(0, "localhost");
  await using _ = server;
  await once(server, "listening");
  const url = `https://localhost:${(server.address() as AddressInfo).port}`;
  const messageOf = (options: Partial<ClientOptions>) =>
    createClient({ url, key: "psk_x", ...options })
      .listVolumes()
      .catch((error: ConnectionError) => error.message);
  expect(await messageOf({})).toMatch(/^The certificate of https:.* is not valid, .* set NODE_EXTRA_CA_CERTS to /);
  // Node has no server that rejects a host name.
  const cause = { code: "ERR_SSL_TLSV1_UNRECOGNIZED_NAME" };
  const rejected = () => Promise.reject(new TypeError("fetch failed", { cause }));
  expect(await messageOf({ fetch: rejected })).toContain(`The server at ${url} has no certificate for this host name`);
});

test("throws a connection error if a body breaks or is not JSON, and the signal's reason if it aborts", async () => {
  const server = createServer(({ url }, response) => {
    if (url === "/v1/volume/list") response.end("<h1>Welcome</h1>");
    else response.write("[", () => url === "/v1/key/list" && response.destroy());
  }).listen(0, "127.0.0.1");
  await using _ = server;
  await once(server, "listening");
  const client = createClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  const volumes = await client.listVolumes().catch((error: unknown) => error);
  expect(volumes).toBeInstanceOf(ConnectionError);
  expect(String(volumes)).toMatch(/http:.*\/v1\/volume\/list did not respond with JSON\. Check the URL/);
  const keys = await client.listKeys().catch((error: unknown) => error);
  expect(keys).toBeInstanceOf(ConnectionError);
  expect(String(keys)).toContain("The connection broke during the response (UND_ERR_SOCKET).");
  const stop = new AbortController();
  const secrets = client.listSecrets({ signal: stop.signal });
  await once(server, "request");
  setTimeout(() => stop.abort(new Error("left")), 50);
  await expect(secrets).rejects.toThrow("left");
  server.closeAllConnections();
});

test("a wrong field does not compile, and the platform rejects it", async () => {
  await using started = await start();
  const { client, api } = started;
  const principal = await api.controlPlane.authenticate({ apiKey: await api.key() });
  const { controlPlane } = api;
  const caller = principal._unsafeUnwrap();
  const kinds = [
    // @ts-expect-error: the field is `name`
    controlPlane.getDeployment(caller, { deployment: "app" }),
    // @ts-expect-error: `name` is required
    controlPlane.createVolume(caller, {}),
    // @ts-expect-error: `limit` is a number
    controlPlane.listDeploys(caller, { limit: {} }),
    // @ts-expect-error: `volumes` is required
    controlPlane.plan(caller, { fields: { function_name: "app" } }),
    // @ts-expect-error: a mount names a volume
    controlPlane.plan(caller, { fields: { function_name: "app", volumes: { "/data": 1 } } }),
    // @ts-expect-error: a check has no field `pathname`
    controlPlane.plan(caller, { fields: { function_name: "app", volumes: {}, health: { pathname: "/" } } }),
    // @ts-expect-error: a variable is text or refers to a secret
    controlPlane.setEnvironment(caller, { name: "app", set: { LEVEL: 1 } }),
    // @ts-expect-error: the mode is `freeze` or `stop`
    controlPlane.plan(caller, { fields: { function_name: "app", volumes: {}, idle: "sleep" } }),
  ].map(async (call) => (await call)._unsafeUnwrapErr().kind);
  expect(await Promise.all(kinds)).toEqual(Array.from({ length: 8 }, () => "invalid_input"));
  const codes = [
    // @ts-expect-error: the field is `name`
    client.createVolume({ volume: "data" }),
    // @ts-expect-error: `query` is text
    client.runSql({ query: 1 }),
  ].map((call) => call.catch((error: ApiError) => error.code));
  expect(await Promise.all(codes)).toEqual(["invalid_input", "invalid_input"]);
  // @ts-expect-error: the record has no field `state`
  expect((await client.listDeployments()).map(({ state }) => state)).toEqual([]);
});

type KnownFields = KnownEndpoint["fields"];
/** The names of the fields whose type accepts any value. */
type Untyped<F> = F extends unknown
  ? { [K in keyof F]: F[K] extends z.ZodType ? (unknown extends z.input<F[K]> ? K : never) : never }[keyof F]
  : never;

test("every field of every endpoint has a type", () => {
  expectTypeOf<Untyped<KnownFields>>().toEqualTypeOf<never>();
  expectTypeOf<Untyped<{ free: z.ZodType<unknown, unknown> }>>().toEqualTypeOf<"free">();
});
