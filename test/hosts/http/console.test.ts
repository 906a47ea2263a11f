/** The routes of the console. The tests of its pages are in test/console, because they need the built files. */
import { setImmediate } from "node:timers/promises";
import Fastify, { type FastifyInstance } from "fastify";
import { afterEach, describe, expect, test } from "vitest";
import { createMemoryProvider } from "../../../adapters/memory/index.ts";
import { createControlPlane } from "../../../core/control-plane.ts";
import { unavailable } from "../../../core/errors.ts";
import { err, errAsync, ok, okAsync, ResultAsync } from "../../../core/result.ts";
import { createPino } from "../../../hosts/composition/logger.ts";
import { builtFolder } from "../../../hosts/http/console-routes.ts";
import { createServer, type PortsideOptions, portside } from "../../../hosts/http/index.ts";

let app: FastifyInstance;
afterEach(() => app.close());

const register = async (options: Omit<PortsideOptions, "controlPlane"> & { readonly prefix?: string } = {}) => {
  app = Fastify();
  const { ports } = createMemoryProvider();
  const volumes = { ...ports.provider.volumes, grantOrigins: () => okAsync(["https://*.files.example"]) };
  const controlPlane = createControlPlane({ ...ports, provider: { ...ports.provider, volumes } });
  // biome-ignore lint/nursery/noMisusedPromises: a plugin may be asynchronous; the type has an overload for it
  await app.register(portside, { controlPlane, ...options });
};

const serve = async (options: { readonly console?: boolean } = {}) => {
  const controlPlane = createControlPlane(createMemoryProvider().ports);
  app = await createServer({ controlPlane, logger: createPino("silent"), ...options });
};

describe.each(["", "/platform", "/a/b"])("under the prefix %j", (prefix) => {
  test("`/console` redirects to `/console/` by a relative URL", async () => {
    await register({ prefix });
    const { statusCode, headers } = await app.inject(`${prefix}/console`);
    expect([statusCode, headers.location]).toEqual([302, "console/"]);
  });

  test("every response has the security policy and the security headers", async () => {
    await register({ prefix });
    for (const path of ["/console/", "/console/assets/missing.js"]) {
      const { headers } = await app.inject(`${prefix}${path}`);
      expect(headers["content-security-policy"]).toBe(
        "default-src 'self'; connect-src 'self' https://*.files.example; img-src 'self' blob: https://*.files.example; " +
          "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      );
      expect(headers["x-content-type-options"]).toBe("nosniff");
      expect(headers["referrer-policy"]).toBe("no-referrer");
      expect(headers["x-frame-options"]).toBe("DENY");
    }
  });
});

test.each([
  ["without signed URLs for pages", {}],
  ["whose storage does not respond", { grantOrigins: () => errAsync(unavailable("The storage is down.", 5)) }],
])("a platform %s serves the page, which then cannot upload", async (_case, change) => {
  const { ports } = createMemoryProvider();
  const { grantOrigins: _origins, ...others } = ports.provider.volumes;
  const provider = { ...ports.provider, volumes: { ...others, ...change } };
  app = await createServer({
    controlPlane: createControlPlane({ ...ports, provider }),
    logger: createPino("silent"),
  });
  const { headers } = await app.inject("/console/");
  expect(headers["content-security-policy"]).toContain("; connect-src 'self'; img-src 'self' blob:; ");
});

test("concurrent requests share one read of the storage's origins, and only a failed read is repeated", async () => {
  const { ports } = createMemoryProvider();
  const results = [err(unavailable("The storage is down.", 5)), ok(["https://files.example"])];
  let reads = 0;
  const grantOrigins = () => new ResultAsync(setImmediate(results[reads++] ?? ok(["https://other.example"])));
  const provider = { ...ports.provider, volumes: { ...ports.provider.volumes, grantOrigins } };
  app = await createServer({
    controlPlane: createControlPlane({ ...ports, provider }),
    logger: createPino("silent"),
  });
  await app.ready();
  const policies = async () => {
    const all = await Promise.all(["", "a.js", "b.js"].map((name) => app.inject(`/console/${name}`)));
    return new Set(all.map(({ headers }) => /connect-src [^;]*/.exec(String(headers["content-security-policy"]))?.[0]));
  };
  expect([await policies(), reads]).toEqual([new Set(["connect-src 'self'"]), 1]);
  const known = new Set(["connect-src 'self' https://files.example"]);
  expect([await policies(), reads]).toEqual([known, 2]);
  expect([await policies(), reads]).toEqual([known, 2]);
});

test.each(["/console/%2e%2e/%2e%2e/package.json", "/console/assets%2f..%2f..%2fpackage.json", "/console/missing.js"])(
  "%s is not a file of the console",
  async (path) => {
    await register();
    const { statusCode, body } = await app.inject(path);
    expect(statusCode).toBe(404);
    expect(body).not.toContain("devDependencies");
  },
);

test("reads the built files next to its own module only, and none if a bundler moved the module", () => {
  expect(builtFolder("file:///app/node_modules/portside/dist/hosts/http/console-routes.js")).toBe(
    "/app/node_modules/portside/dist/console",
  );
  expect(builtFolder("file:///src/portside/hosts/http/console-routes.ts")).toBe("/src/portside/dist/console");
  expect(builtFolder("file:///app/dist/server/main.js")).toBeUndefined();
  expect(builtFolder(undefined)).toBeUndefined();
});

test.each([
  ["keys and links", {}, ["link", "key"]],
  ["the application's own session", { caller: () => undefined }, ["link", "key", "application"]],
])("`/console/sign-in.json` lists %s without a session, and nothing else", async (_what, options, methods) => {
  await register(options);
  const { statusCode, headers, body } = await app.inject("/console/sign-in.json");
  expect([statusCode, body]).toEqual([200, JSON.stringify({ sign_in: methods })]);
  expect([headers["cache-control"], headers["x-content-type-options"]]).toEqual(["no-store", "nosniff"]);
});

test("only GET and HEAD are allowed", async () => {
  await register();
  const { statusCode, headers } = await app.inject({ method: "POST", url: "/console/" });
  expect([statusCode, headers["allow"]]).toEqual([405, "GET, HEAD"]);
});

test("`console: false` removes the console", async () => {
  await register({ console: false });
  for (const path of ["/console", "/console/", "/console/sign-in.json"])
    expect((await app.inject(path)).statusCode).toBe(404);
});

test("`/` of Portside's own server redirects to the console, or to the docs without it", async () => {
  await serve();
  expect((await app.inject("/")).headers.location).toBe("/console/");
  await app.close();
  await serve({ console: false });
  expect((await app.inject("/")).headers.location).toBe("/docs");
  expect((await app.inject("/console/")).statusCode).toBe(404);
});
