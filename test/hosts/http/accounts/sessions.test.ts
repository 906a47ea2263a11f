/** Sessions of the console over HTTP: signing in and out, links, the cookie, HTTPS, and what a session may do. */
import { describe, expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { sourceOf } from "../../../support/archives/archives.ts";
import { recordsOf, serveMemory } from "../../../support/http/api.ts";
import { cookieOf, signIn } from "../../../support/http/browser-session.ts";
import { deployForm } from "../../../support/http/record-stream.ts";
import { detailOf, problemsOf } from "../../../support/http/refusals.ts";

const HOUR = 60 * 60_000;
const start = async () => {
  const clock = createManualClock();
  const api = await serveMemory({ clock });
  return { clock, api, [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() };
};

const linkOf = async (api: Awaited<ReturnType<typeof serveMemory>>, key?: string) => {
  const answer = await api.call("POST", "/v1/console/link", key === undefined ? {} : { key });
  expect(answer.status, answer.text).toBe(200);
  return answer.json as { url: string; expires_at: string };
};
const tokenOf = ({ url }: { url: string }) => url.split("#link=")[1] as string;
const useLink = (api: Awaited<ReturnType<typeof serveMemory>>, link: string) =>
  api.call("POST", "/v1/console/sign-in", { key: null, json: { link } });

describe("a link", () => {
  test("signs in once, and its token is in the fragment of the URL", async () => {
    await using started = await start();
    const { api } = started;
    const link = await linkOf(api);
    expect(link.url).toMatch(new RegExp(`^${api.url}/console/#link=[A-Za-z0-9]{43}$`));
    const answer = await useLink(api, tokenOf(link));
    expect(answer.json).toEqual({
      request_token: expect.stringMatching(/^[A-Za-z0-9]{43}$/),
      expires_at: expect.any(String),
      account: "acme",
    });
    const cookie = /^portside_session=([A-Za-z0-9]{43}); Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/;
    const [, value = ""] = cookie.exec(answer.headers.get("set-cookie") ?? "") ?? [];
    expect(value).not.toBe("");
    expect(answer.text).not.toContain(value);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(detailOf(await useLink(api, tokenOf(link)), 403)).toContain("Run 'portside console' for a new one.");
  });

  test("is not valid after 60 seconds", async () => {
    await using started = await start();
    const { api, clock } = started;
    const [early, late] = [await linkOf(api), await linkOf(api)];
    await clock.advance(59_999);
    expect((await useLink(api, tokenOf(early))).status).toBe(200);
    await clock.advance(1);
    detailOf(await useLink(api, tokenOf(late)), 403);
  });

  test("signs in exactly one of several concurrent callers", async () => {
    await using started = await start();
    const { api } = started;
    const link = tokenOf(await linkOf(api));
    const answers = await Promise.all(Array.from({ length: 10 }, () => useLink(api, link)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(403)]);
  });

  test("is not valid after its key is revoked", async () => {
    await using started = await start();
    const { api } = started;
    const { key, id } = (await api.call("POST", "/v1/key/create", { json: { label: "old" } })).json;
    const link = tokenOf(await linkOf(api, key));
    await api.call("POST", "/v1/key/revoke", { json: { id } });
    detailOf(await useLink(api, link), 403);
  });

  test("cannot be created by a session, because a session could otherwise renew itself forever", async () => {
    await using started = await start();
    const { api } = started;
    const page = await signIn(api, await api.key());
    detailOf(await page.call("POST", "/v1/console/link"), 403);
  });
});

describe("a sign-in", () => {
  test("with an invalid key fails with 401", async () => {
    await using started = await start();
    const answer = await started.api.call("POST", "/v1/console/sign-in", { key: null, json: { key: "psk_wrong" } });
    expect(detailOf(answer, 401)).not.toContain("psk_wrong");
  });

  test.each([
    [{}, ["body.link: missing"]],
    [{ link: null, key: null }, ["body.link: missing"]],
    [{ link: "a", key: "b" }, ["body.key: extra_forbidden"]],
    [{ link: 7 }, ["body.link: string_type"]],
    [{ key: "" }, ["body.key: string_too_short"]],
  ])("with %j returns 422", async (json, expected) => {
    await using started = await start();
    const answer = await started.api.call("POST", "/v1/console/sign-in", { key: null, json });
    expect(problemsOf(answer)).toEqual(expected);
  });

  test("is limited to 20 invalid keys per minute and address; valid keys do not count", async () => {
    await using started = await start();
    const { api, clock } = started;
    const key = await api.key();
    const attempt = (wrong: boolean) =>
      api.call("POST", "/v1/console/sign-in", { key: null, json: { key: wrong ? "psk_wrong" : key } });
    for (let count = 0; count < 20; count++) {
      expect((await attempt(false)).status).toBe(200);
      expect((await attempt(true)).status).toBe(401);
    }
    const refused = await attempt(false);
    expect(detailOf(refused, 429)).toContain("20 failed sign-ins per minute");
    expect(refused.headers.get("retry-after")).toBe("3");
    await clock.advance(3000);
    expect((await attempt(false)).status).toBe(200);
  });

  test("ends the session that it replaces, of any account", async () => {
    await using started = await start();
    const { api } = started;
    const page = await signIn(api, await api.key());
    const { headers } = page;
    const json = { key: await api.key("beta") };
    const wrong = await api.call("POST", "/v1/console/sign-in", { key: null, headers, json: { key: "psk_wrong" } });
    expect([wrong.status, (await page.call("GET", "/v1/deployment/list")).status]).toEqual([401, 200]);
    expect((await api.call("POST", "/v1/console/sign-in", { key: null, headers, json })).status).toBe(200);
    detailOf(await page.call("GET", "/v1/deployment/list"), 401);
    expect((await api.call("GET", "/v1/console/sessions")).json).toEqual({ sessions: [] });
    expect((await api.call("GET", "/v1/console/sessions", { account: "beta" })).json.sessions).toHaveLength(1);
  });

  test("with only the cookie of a session does not end the session", async () => {
    await using started = await start();
    const { api } = started;
    const [page, other] = [await signIn(api, await api.key()), await signIn(api, await api.key("beta"))];
    const json = { key: await api.key("beta") };
    for (const token of [{}, { "x-portside-console": other.requestToken }] as Record<string, string>[]) {
      const headers = { ...page.headers, "x-portside-console": "", ...token };
      expect((await api.call("POST", "/v1/console/sign-in", { key: null, headers, json })).status).toBe(200);
    }
    expect((await page.call("GET", "/v1/deployment/list")).status).toBe(200);
    expect((await other.call("GET", "/v1/deployment/list")).status).toBe(200);
  });
});

describe("a session", () => {
  test("has the rights of its credential", async () => {
    await using started = await start();
    const { api } = started;
    const page = await signIn(api, await api.key());
    expect((await page.call("GET", "/v1/deployment/list")).json).toEqual([]);
    expect((await page.call("POST", "/v1/key/create", { json: { label: "from the page" } })).status).toBe(200);
    const { access_token } = (await api.call("POST", "/v1/token")).json;
    const link = await api.call("POST", "/v1/console/link", {
      key: null,
      headers: { authorization: `Bearer ${access_token}` },
    });
    const signedIn = await useLink(api, tokenOf(link.json));
    const headers = {
      cookie: cookieOf(signedIn),
      "x-portside-console": signedIn.json.request_token,
      "sec-fetch-site": "same-origin",
    };
    const ofToken = (method: string, path: string, json?: unknown) =>
      api.call(method, path, { key: null, headers, ...(json === undefined ? {} : { json }) });
    expect((await ofToken("GET", "/v1/deployment/list")).status).toBe(200);
    detailOf(await ofToken("POST", "/v1/key/create", { label: "no" }), 403);
    detailOf(await ofToken("POST", "/v1/token"), 403);
  });

  test("ends after 12 hours, and a session of a token ends with the token", async () => {
    await using started = await start();
    const { api, clock } = started;
    const page = await signIn(api, await api.key());
    const { access_token, expires_at } = (await api.call("POST", "/v1/token")).json;
    const bearer = { key: null, headers: { authorization: `Bearer ${access_token}` } };
    const link = (await api.call("POST", "/v1/console/link", bearer)).json;
    const ofToken = (await useLink(api, tokenOf(link))).json;
    expect(Date.parse(ofToken.expires_at)).toBe(Math.floor(Date.parse(expires_at) / 1000) * 1000);
    await clock.advance(12 * HOUR - 1);
    expect((await page.call("GET", "/v1/deployment/list")).status).toBe(200);
    await clock.advance(1);
    detailOf(await page.call("GET", "/v1/deployment/list"), 401);
  });

  test("is the author of its deploys, with the label of its key", async () => {
    await using started = await start();
    const { api } = started;
    const page = await signIn(api, await api.key());
    const body = deployForm({ function_name: "by-page", volumes: "{}" }, sourceOf({ "index.js": "run()" }));
    expect(recordsOf(await page.call("POST", "/v1/deploy", { body })).at(-1).status).toBe("DONE");
    const { releases } = (await api.call("GET", "/v1/deployment/releases?name=by-page")).json;
    expect(releases[0].created_by).toEqual({ kind: "console", id: expect.any(String), label: "test" });
  });

  test("is listed with its credential and its last use, and ends when another caller revokes it", async () => {
    await using started = await start();
    const { api, clock } = started;
    const key = await api.key();
    const [page, other] = [await signIn(api, key), await signIn(api, key)];
    const { sessions } = (await page.call("GET", "/v1/console/sessions")).json;
    expect(sessions).toEqual(
      [true, false].map((current) => ({
        id: expect.any(String),
        created_at: expect.any(String),
        expires_at: expect.any(String),
        ...(current ? { last_seen: expect.any(String) } : {}),
        credential: { kind: "key", id: expect.any(String), label: "test" },
        current,
      })),
    );
    const { id } = sessions.find((session: { current: boolean }) => !session.current);
    await clock.advance(1000);
    expect((await page.call("POST", "/v1/console/revoke", { json: { id } })).json.detail).toContain(id);
    detailOf(await other.call("GET", "/v1/deployment/list"), 401);
    detailOf(await page.call("POST", "/v1/console/revoke", { json: { id } }), 404);
    expect((await page.call("GET", "/v1/console/sessions")).json.sessions).toHaveLength(1);
  });

  test("ends when it signs out, which removes the cookie", async () => {
    await using started = await start();
    const page = await signIn(started.api, await started.api.key());
    const answer = await page.call("POST", "/v1/console/sign-out");
    expect(answer.json).toEqual({ detail: "You are signed out." });
    expect(answer.headers.get("set-cookie")).toBe("portside_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
    detailOf(await page.call("GET", "/v1/deployment/list"), 401);
  });

  test("ends with its key", async () => {
    await using started = await start();
    const { api } = started;
    const { key, id } = (await api.call("POST", "/v1/key/create", { json: { label: "old" } })).json;
    const [page, other] = [await signIn(api, key), await signIn(api, await api.key())];
    await api.call("POST", "/v1/key/revoke", { json: { id } });
    detailOf(await page.call("GET", "/v1/deployment/list"), 401);
    expect((await other.call("GET", "/v1/console/sessions")).json.sessions).toHaveLength(1);
  });

  test("gives way to a key of the request", async () => {
    await using started = await start();
    const { api } = started;
    const page = await signIn(api, await api.key("acme"));
    const headers = { ...page.headers, "sec-fetch-site": "cross-site" };
    const usage = await api.call("GET", "/v1/console/sessions", { account: "beta", headers });
    expect(usage.json).toEqual({ sessions: [] });
    detailOf(await api.call("GET", "/v1/deployment/list", { key: "psk_wrong", headers: page.headers }), 401);
  });
});
