/** Keys and tokens over HTTP: shown once, listed by their prefix, with the time of their last use. */
import { describe, expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { serveMemory } from "../../../support/http/api.ts";
import { detailOf } from "../../../support/http/refusals.ts";

const create = async (api: Awaited<ReturnType<typeof serveMemory>>, label: string, account = "acme") =>
  (await api.call("POST", "/v1/key/create", { json: { label }, account })).json;

test("returns a new key once, and the key works immediately", async () => {
  await using api = await serveMemory();
  const made = await create(api, "laptop");
  expect(Object.keys(made).sort()).toEqual(["id", "key", "prefix"]);
  expect(made.key).toMatch(/^psk_[0-9A-Za-z]{40}$/);
  expect(made.key.startsWith(made.prefix)).toBe(true);
  const list = await api.call("GET", "/v1/key/list", { key: made.key });
  expect(list.status).toBe(200);
  expect(list.text).not.toContain(made.key);
  expect(list.json.at(-1)).toEqual({
    id: made.id,
    prefix: made.prefix,
    label: "laptop",
    created_at: expect.stringMatching(/\+00:00$/),
    last_used_at: expect.anything(),
  });
});

test("lists keys oldest first, until they are revoked", async () => {
  await using api = await serveMemory();
  const made = [await create(api, "one"), await create(api, "two"), await create(api, "three")];
  const labels = async () => (await api.call("GET", "/v1/key/list")).json.map(({ label }: { label: string }) => label);
  expect(await labels()).toEqual(["test", "one", "two", "three"]);
  await api.call("POST", "/v1/key/revoke", { json: { id: made[1].id } });
  expect(await labels()).toEqual(["test", "one", "three"]);
});

test("records the time of the last use", async () => {
  const clock = createManualClock();
  await using api = await serveMemory({ clock });
  const { key, id } = await create(api, "ci");
  const lastUse = async () => {
    const list = (await api.call("GET", "/v1/key/list")).json;
    return list.find((one: { id: string }) => one.id === id).last_used_at;
  };
  expect(await lastUse()).toBeNull();
  await clock.advance(5000);
  await api.call("GET", "/v1/capabilities", { key });
  expect(await lastUse()).toBe("2026-01-01T00:00:05+00:00");
});

describe("a label", () => {
  test.each(["x", "x".repeat(100), "CI von Zoë 🚢", " "])("accepts %j", async (label) => {
    await using api = await serveMemory();
    expect(await create(api, label)).toHaveProperty("key");
    expect((await api.call("GET", "/v1/key/list")).json.at(-1).label).toBe(label);
  });
});

test("returns the same 404 for another account's key, an unknown key and a revoked key", async () => {
  await using api = await serveMemory();
  const other = await create(api, "theirs", "beta");
  const own = await create(api, "mine");
  await api.call("POST", "/v1/key/revoke", { json: { id: own.id } });
  for (const id of [other.id, "never-was", own.id]) {
    const answer = await api.call("POST", "/v1/key/revoke", { json: { id } });
    expect(detailOf(answer, 404)).toBe(`Your account has no key '${id}'.`);
  }
  expect((await api.call("GET", "/v1/key/list", { key: other.key })).status).toBe(200);
});

describe("a token", () => {
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

  test("identifies the account for an hour", async () => {
    const clock = createManualClock();
    await using api = await serveMemory({ clock });
    const made = await api.call("POST", "/v1/token");
    expect(Object.keys(made.json).sort()).toEqual(["access_token", "expires_at"]);
    expect(made.json.expires_at).toBe("2026-01-01T01:00:00+00:00");
    const headers = bearer(made.json.access_token);
    expect((await api.call("GET", "/v1/key/list", { key: null, headers })).status).toBe(200);
    await clock.advance(60 * 60_000);
    detailOf(await api.call("GET", "/v1/key/list", { key: null, headers }), 401);
  });

  test("must not create keys or tokens, which would outlive its key", async () => {
    await using api = await serveMemory();
    const headers = bearer((await api.call("POST", "/v1/token")).json.access_token);
    const refusal = "A token of this platform must not create keys or tokens. Use an API key.";
    const key = await api.call("POST", "/v1/key/create", { key: null, headers, json: { label: "mine" } });
    expect(detailOf(key, 403)).toBe(refusal);
    expect(detailOf(await api.call("POST", "/v1/token", { key: null, headers }), 403)).toBe(refusal);
    const wrong = await api.call("POST", "/v1/key/create", { key: null, headers, json: {} });
    expect(wrong.status).toBe(422);
    expect((await api.call("GET", "/v1/key/list")).json).toHaveLength(1);
  });

  test("ends with the key that created it, unlike tokens of other keys", async () => {
    await using api = await serveMemory();
    const made = await create(api, "short-lived");
    const own = bearer((await api.call("POST", "/v1/token", { key: made.key })).json.access_token);
    const other = bearer((await api.call("POST", "/v1/token")).json.access_token);
    expect((await api.call("GET", "/v1/volume/list", { key: null, headers: own })).status).toBe(200);
    await api.call("POST", "/v1/key/revoke", { json: { id: made.id } });
    detailOf(await api.call("GET", "/v1/volume/list", { key: null, headers: own }), 401);
    expect((await api.call("GET", "/v1/volume/list", { key: null, headers: other })).status).toBe(200);
  });
});
