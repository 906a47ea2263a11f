/**
 * What a service of another account can do with a session's cookie. A browser sends the cookie to every port of its
 * host, so a service may have it. It can then send any headers, but it does not have the request token.
 */
import Fastify, { type FastifyInstance } from "fastify";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import { createControlPlane } from "../../../../core/control-plane.ts";
import { accountOf } from "../../../../core/domain/accounts/account.ts";
import { type PortsideOptions, portside } from "../../../../hosts/http/index.ts";
import { serveMemory } from "../../../support/http/api.ts";
import { type BrowserSession, signIn } from "../../../support/http/browser-session.ts";
import { callEndpoint, privateEndpointNames } from "../../../support/http/endpoint-calls.ts";
import { detailOf } from "../../../support/http/refusals.ts";

let api: Awaited<ReturnType<typeof serveMemory>>;
let victim: BrowserSession;
let attacker: BrowserSession;
beforeAll(async () => {
  api = await serveMemory();
  victim = await signIn(api, await api.key("victim"));
  attacker = await signIn(api, await api.key("attacker"));
});
afterAll(() => api[Symbol.asyncDispose]());

describe.each(privateEndpointNames)("%s", (endpoint) => {
  const send = (headers: Readonly<Record<string, string>>) => callEndpoint(api, endpoint, {}, { key: null, headers });
  const asPage = () => ({ host: new URL(api.url).host, origin: api.url, "sec-fetch-site": "same-origin" });

  test("rejects the cookie without the request token, whatever the headers", async () => {
    const { cookie } = victim;
    const value = cookie.split("=")[1] as string;
    const before = JSON.stringify(api.memory.snapshot());
    for (const forged of [
      { cookie },
      { cookie, ...asPage() },
      { cookie, ...asPage(), "x-portside-console": "" },
      { cookie, ...asPage(), "x-portside-console": value },
      { cookie, ...asPage(), "x-portside-console": attacker.requestToken },
      { cookie, ...asPage(), "x-forwarded-for": "127.0.0.1", "x-forwarded-proto": "https" },
      { cookie: `__Host-portside_session=${value}; ${cookie}`, ...asPage(), "x-portside-console": "1" },
      { ...asPage(), "x-portside-console": victim.requestToken },
      { ...asPage(), "x-portside-console": victim.requestToken, cookie: attacker.cookie },
    ])
      detailOf(await send(forged), 401);
    expect(JSON.stringify(api.memory.snapshot())).toBe(before);
  });

  test("rejects a request from another site, even with both secrets", async () => {
    const { cookie, requestToken } = victim;
    const secrets = { cookie, "x-portside-console": requestToken };
    const before = JSON.stringify(api.memory.snapshot());
    for (const source of [
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site", origin: api.url },
      { origin: "http://app.localhost:8080" },
      { origin: "null" },
      // No browser sends such a request.
      {},
    ] as Record<string, string>[])
      detailOf(await send({ ...secrets, ...source }), 403);
    expect(JSON.stringify(api.memory.snapshot())).toBe(before);
  });
});

test("another site cannot sign the user in to its own account", async () => {
  const json = { key: await api.key("attacker") };
  for (const headers of [
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { origin: "https://evil.example" },
    { origin: "null" },
  ] as Record<string, string>[]) {
    const answer = await api.call("POST", "/v1/console/sign-in", { key: null, json, headers });
    expect(detailOf(answer, 403)).toMatch(/^Cross-site/);
    expect(answer.headers.get("set-cookie")).toBeNull();
  }
});

let app: FastifyInstance | undefined;
afterEach(async () => app?.close());

const embed = async (options: Partial<PortsideOptions> = {}, server: { readonly trustProxy?: boolean } = {}) => {
  const memory = createMemoryProvider();
  app = Fastify(server);
  const controlPlane = createControlPlane(memory.ports);
  // biome-ignore lint/nursery/noMisusedPromises: a plugin may be asynchronous; the type says so through an overload
  await app.register(portside, { prefix: "/platform", controlPlane, ...options });
  const { key } = (await memory.identity.keys.create(accountOf("acme"), "test"))._unsafeUnwrap();
  const post = (path: string, headers: Record<string, string>, payload: object = {}) =>
    (app as FastifyInstance).inject({ method: "POST", url: `/platform/v1/console/${path}`, headers, payload });
  return { post, key, attempt: (headers: Record<string, string>) => post("sign-in", headers, { key }) };
};

describe("HTTPS", () => {
  const forwarded = { host: "app.example", "x-forwarded-proto": "https" };

  test.each(["app.example", "192.168.0.7:8787", "localhost.evil.example", "127.0.0.1.evil.example"])(
    "is needed for the host %s",
    async (host) => {
      const { attempt } = await embed();
      const refused = await attempt({ host });
      expect([refused.statusCode, refused.headers["set-cookie"]]).toEqual([403, undefined]);
      expect(refused.json().detail).toContain("Sign-in needs HTTPS");
    },
  );

  test.each(["localhost:8787", "127.0.0.1:8787", "[::1]:8787", "LOCALHOST"])("is not needed for %s", async (host) => {
    const { attempt } = await embed();
    expect((await attempt({ host })).statusCode).toBe(200);
  });

  test("is needed behind a proxy on this machine that sends its own host", async () => {
    const origin = "http://portside.example.com";
    const { attempt } = await embed({ origins: [origin] });
    const refused = await attempt({ host: "127.0.0.1:8080", origin, "sec-fetch-site": "same-origin" });
    expect([refused.statusCode, refused.headers["set-cookie"]]).toEqual([403, undefined]);
    expect(refused.json().detail).toContain("Sign-in needs HTTPS");
  });

  test("is not assumed from headers that the application does not trust", async () => {
    const { attempt } = await embed();
    expect((await attempt(forwarded)).statusCode).toBe(403);
    expect((await attempt({ ...forwarded, origin: "https://app.example" })).statusCode).toBe(403);
  });

  test("adds Secure and the prefix __Host- to the cookie", async () => {
    const trusted = await embed({}, { trustProxy: true });
    const cookie = /^__Host-portside_session=[^;]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/;
    const viaHeader = await trusted.attempt({ ...forwarded, origin: "https://app.example" });
    expect([viaHeader.statusCode, viaHeader.headers["set-cookie"]]).toEqual([200, expect.stringMatching(cookie)]);
    await app?.close();
    const configured = await embed({ origins: ["https://app.example"] });
    const page = { host: "10.0.0.7:3000", origin: "https://app.example", "sec-fetch-site": "same-origin" };
    const viaSetting = await configured.attempt(page);
    expect([viaSetting.statusCode, viaSetting.headers["set-cookie"]]).toEqual([200, expect.stringMatching(cookie)]);
    const [pair = ""] = String(viaSetting.headers["set-cookie"]).split(";");
    const session = { cookie: pair, "x-portside-console": viaSetting.json().request_token };
    const list = await app?.inject({ url: "/platform/v1/console/sessions", headers: { ...page, ...session } });
    expect(list?.json().sessions).toMatchObject([{ current: true }]);
    const link = await configured.post("link", { host: "10.0.0.7:3000", "x-api-key": configured.key });
    expect(link.json().url).toMatch(/^https:\/\/app\.example\/platform\/console\/#link=/);
  });
});

describe("a console that is off", () => {
  test("has no endpoints, no sessions and no entries in the OpenAPI document", async () => {
    const { post, attempt, key } = await embed({ console: false });
    const statuses = [await attempt({}), await post("link", { "x-api-key": key })].map(({ statusCode }) => statusCode);
    expect(statuses).toEqual([404, 404]);
    const get = async (path: string) =>
      (await (app as FastifyInstance).inject({ url: `/platform${path}`, headers: { "x-api-key": key } })).json();
    expect((await get("/v1/capabilities")).console).toEqual({ supported: false, sign_in: [] });
    const document = await get("/openapi.json");
    expect(Object.keys(document.paths).filter((path) => path.includes("console"))).toEqual([]);
    expect(document.tags.map(({ name }: { name: string }) => name)).not.toContain("Console");
  });

  test("rejects the sessions that started while it was on", async () => {
    const memory = createMemoryProvider();
    const controlPlane = createControlPlane(memory.ports);
    const { key } = (await memory.identity.keys.create(accountOf("acme"), "test"))._unsafeUnwrap();
    const { cookie, request_token } = (await controlPlane.signIn({ key }, "::1"))._unsafeUnwrap();
    app = Fastify();
    // biome-ignore lint/nursery/noMisusedPromises: a plugin may be asynchronous; the type says so through an overload
    await app.register(portside, { controlPlane, console: false });
    const session = { cookie: `portside_session=${cookie}`, "x-portside-console": request_token };
    const headers = { ...session, "sec-fetch-site": "same-origin" };
    expect((await app.inject({ url: "/v1/deployment/list", headers })).statusCode).toBe(401);
  });
});

describe("the users of the embedding application", () => {
  const own = { account: accountOf("u-17"), credentialId: "u-17" };

  test("use its session, and can neither create links nor get a session of their own", async () => {
    const { post } = await embed({ caller: () => own });
    const refused = await post("link", { host: "localhost" });
    expect([refused.statusCode, refused.json().detail]).toEqual([403, expect.stringContaining("API key or a token")]);
    const { console } = (await app?.inject({ url: "/platform/v1/capabilities" }))?.json() ?? {};
    expect(console).toEqual({ supported: true, sign_in: ["link", "key", "application"] });
  });

  test("are not signed in by a request from another site", async () => {
    await embed({ caller: () => own });
    const headers = { host: "app.example", "sec-fetch-site": "same-site" };
    expect((await app?.inject({ url: "/platform/v1/console/sessions", headers }))?.statusCode).toBe(403);
  });
});
