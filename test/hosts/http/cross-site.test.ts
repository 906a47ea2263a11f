/** Protection from cross-site request forgery: the rule as properties, and its effect on requests with a session. */

import fc from "fast-check";
import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import { afterEach, describe, expect, test } from "vitest";
import { createMemoryProvider } from "../../../adapters/memory/index.ts";
import { createControlPlane } from "../../../core/control-plane.ts";
import { accountOf } from "../../../core/domain/accounts/account.ts";
import { checkOrigins, crossSiteError } from "../../../hosts/http/cross-site.ts";
import { endpoints, needsCredential } from "../../../hosts/http/endpoints.ts";
import { type PortsideOptions, portside } from "../../../hosts/http/index.ts";
import { sourceOf } from "../../support/archives/archives.ts";
import { field, file, formOf, formType } from "../../support/http/multipart.ts";

const origin = fc
  .tuple(fc.constantFrom("http", "https"), fc.domain(), fc.integer({ min: 1024, max: 65_535 }))
  .map(([scheme, host, port]) => `${scheme}://${host}:${port}`);
const good = fc.constantFrom(undefined, "same-origin", "none");
const none: ReadonlySet<string> = new Set();

describe("the rule", () => {
  test("allows the page's own origin and the configured ones", () => {
    fc.assert(
      fc.property(good, origin, fc.array(origin), fc.nat(), (fetchSite, own, configured, at) => {
        const sent = [undefined, own, ...configured][at % (configured.length + 2)];
        expect(crossSiteError({ fetchSite, origin: sent }, own, new Set(configured))).toBeUndefined();
      }),
    );
  });

  test("rejects every other origin, whatever Sec-Fetch-Site says", () => {
    fc.assert(
      fc.property(good, fc.oneof(origin, fc.string()), origin, fc.array(origin), (fetchSite, sent, own, configured) => {
        fc.pre(sent !== own && !configured.includes(sent));
        expect(crossSiteError({ fetchSite, origin: sent }, own, new Set(configured))?.kind).toBe("forbidden");
      }),
    );
  });

  test("rejects every other site, whatever the origin", () => {
    const site = fc.oneof(fc.constantFrom("same-site", "cross-site", "", "Same-Origin", "none, none"), fc.string());
    fc.assert(
      fc.property(site, fc.boolean(), origin, (fetchSite, withOrigin, own) => {
        fc.pre(fetchSite !== "same-origin" && fetchSite !== "none");
        const sent = withOrigin ? own : undefined;
        expect(crossSiteError({ fetchSite, origin: sent }, own, new Set([own]))?.kind).toBe("forbidden");
      }),
    );
  });

  test.each([
    ["http://app.example:80", "http://app.example", true],
    ["https://app.example:443", "https://app.example", true],
    ["https://APP.example", "https://app.example", true],
    ["http://app.example", "https://app.example", false],
    ["https://app.example", "https://app.example.evil.example", false],
    ["https://app.example", "https://sub.app.example", false],
    ["https://app.example", "null", false],
    ["not a host://", "null", false],
    ["http://", "http://", false],
  ])("own %j, origin %j: allowed is %s", (own, sent, allowed) => {
    expect(crossSiteError({ fetchSite: undefined, origin: sent }, own, none) === undefined).toBe(allowed);
  });

  test.each([
    "*",
    "null",
    "",
    "app.example",
    "https://app.example/",
    "https://APP.example",
    "https://app.example:443",
    "https://*.example",
    "file:///x",
  ])("refuses to start with the origin %j", (text) => {
    expect(() => checkOrigins(["https://ok.example", text])).toThrow(`origins[1] is not an origin: '${text}'`);
  });
});

let app: FastifyInstance;
afterEach(() => app?.close());

const principal = { account: accountOf("acme"), credentialId: "session" };
const SESSION = { cookie: "session=1", host: "app.example" };

const embed = async (options: Partial<PortsideOptions> = {}, server: { readonly trustProxy?: boolean } = {}) => {
  const memory = createMemoryProvider();
  const controlPlane = createControlPlane(memory.ports, { accountLimits: { requestsPerMinute: 3 } });
  app = Fastify(server);
  const caller = ({ headers }: FastifyRequest) => (headers.cookie === "session=1" ? principal : undefined);
  // biome-ignore lint/nursery/noMisusedPromises: a plugin may be asynchronous; the type says so through an overload
  await app.register(portside, { prefix: "/platform", controlPlane, caller, ...options });
  const made = await memory.identity.keys.create(accountOf("acme"), "test");
  return { memory, key: made._unsafeUnwrap().key };
};

const list = (headers: Record<string, string>) => app.inject({ url: "/platform/v1/volume/list", headers });

test("another site's form does not deploy", async () => {
  const { memory } = await embed();
  const own = await app.listen({ port: 0, host: "127.0.0.1" });
  const deploy = (headers: Record<string, string>) => {
    const body = formOf(
      field("function_name", "app"),
      field("volumes", "{}"),
      file("source_archive", "source.tgz", sourceOf({ "index.js": "run()" })),
    );
    const sent = { cookie: "session=1", "content-type": formType, ...headers };
    return fetch(`${own}/platform/v1/deploy`, { method: "POST", headers: sent, body });
  };
  const before = JSON.stringify(memory.snapshot());
  const refused = await deploy({ origin: "https://evil.example", "sec-fetch-site": "cross-site" });
  expect([refused.status, await refused.json()]).toEqual([
    403,
    { detail: expect.stringMatching(/^Cross-site requests are not allowed/) },
  ]);
  expect(JSON.stringify(memory.snapshot())).toBe(before);
  const allowed = await deploy({ origin: own, "sec-fetch-site": "same-origin" });
  expect([allowed.status, await allowed.text()]).toEqual([200, expect.stringContaining('"DONE"')]);
});

test.each([
  ["a sibling host", { "sec-fetch-site": "same-site", origin: "http://service.app.example" }],
  ["an older browser on another site", { origin: "https://evil.example" }],
  ["a sandboxed frame", { origin: "null" }],
  ["another port", { origin: "http://app.example:8081" }],
])("rejects %s, even for reads and unsupported methods", async (_name, headers) => {
  await embed();
  expect((await list({ ...SESSION, ...headers })).statusCode).toBe(403);
  const put = await app.inject({ method: "PUT", url: "/platform/v1/volume/list", headers: { ...SESSION, ...headers } });
  expect(put.statusCode).toBe(403);
});

test("rejects another site for every endpoint that needs a credential, and changes nothing", async () => {
  const { memory } = await embed();
  const before = JSON.stringify(memory.snapshot());
  for (const { method, path } of endpoints.filter(needsCredential))
    for (const site of ["cross-site", "same-site"]) {
      const headers = { ...SESSION, "sec-fetch-site": site };
      const { statusCode } = await app.inject({ method, url: `/platform${path}`, headers });
      expect([method, path, site, statusCode]).toEqual([method, path, site, 403]);
    }
  expect(JSON.stringify(memory.snapshot())).toBe(before);
});

test("allows a client other than a browser, and a page that the user opens", async () => {
  await embed();
  expect((await list(SESSION)).statusCode).toBe(200);
  expect((await list({ ...SESSION, "sec-fetch-site": "none" })).statusCode).toBe(200);
});

test("does not check requests with a key, because browsers never add one automatically", async () => {
  const { key } = await embed();
  const headers = { "x-api-key": key, origin: "https://tool.example", "sec-fetch-site": "cross-site" };
  expect((await list(headers)).statusCode).toBe(200);
});

test("behind a proxy, a configured origin or the proxy's headers determine the page's origin", async () => {
  const page = { ...SESSION, host: "10.0.0.7:3000", origin: "https://app.example", "sec-fetch-site": "same-origin" };
  const forwarded = { "x-forwarded-proto": "https", "x-forwarded-host": "app.example" };
  await embed();
  expect((await list({ ...page, ...forwarded })).statusCode).toBe(403);
  await app.close();
  await embed({ origins: ["https://app.example"] });
  expect((await list(page)).statusCode).toBe(200);
  await app.close();
  await embed({}, { trustProxy: true });
  expect((await list({ ...page, ...forwarded })).statusCode).toBe(200);
});

test("rejected requests do not count towards the account's rate", async () => {
  await embed();
  const evil = { ...SESSION, "sec-fetch-site": "cross-site" };
  for (let sent = 0; sent < 10; sent++) expect((await list(evil)).statusCode).toBe(403);
  expect((await list(SESSION)).statusCode).toBe(200);
});
