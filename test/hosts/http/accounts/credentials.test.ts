/** Authentication by key or token. Responses to unauthenticated requests reveal nothing. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { forged } from "../../../support/accounts/token-issuer.ts";
import { serveMemory } from "../../../support/http/api.ts";
import { send } from "../../../support/http/clients.ts";
import { detailOf } from "../../../support/http/refusals.ts";

let api: Awaited<ReturnType<typeof serveMemory>>;
let key: string;
let token: string;
beforeAll(async () => {
  api = await serveMemory();
  key = await api.key("acme");
  token = (await api.call("POST", "/v1/token", { key: await api.key("beta") })).json.access_token;
});
afterAll(() => api[Symbol.asyncDispose]());

/** Lists the caller's keys, which show the account of the credential. */
const callWith = (headers: Readonly<Record<string, string>>) => send(api.url, { path: "/v1/key/list", headers });
const statusWith = async (headers: Readonly<Record<string, string>>) => (await callWith(headers)).status;

describe("identified", () => {
  test("by a key or by a token", async () => {
    expect(await statusWith({ "x-api-key": key })).toBe(200);
    expect(await statusWith({ authorization: `Bearer ${token}` })).toBe(200);
    expect(await statusWith({ authorization: `bearer   ${token} ` })).toBe(200);
  });

  test("by the key if both are sent", async () => {
    const ids = async (headers: Readonly<Record<string, string>>): Promise<string[]> =>
      JSON.parse((await callWith(headers)).text).map(({ id }: { id: string }) => id);
    const asAcme = await ids({ "x-api-key": key });
    const asBeta = await ids({ authorization: `Bearer ${token}` });
    expect(asAcme).not.toEqual(asBeta);
    expect(await ids({ "x-api-key": key, authorization: `Bearer ${token}` })).toEqual(asAcme);
    expect(await ids({ "x-api-key": key, authorization: "Basic cHJveHk6cHJveHk=" })).toEqual(asAcme);
    expect(await statusWith({ "x-api-key": "psk_wrong", authorization: `Bearer ${token}` })).toBe(401);
    expect(await statusWith({ "x-api-key": "", authorization: `Bearer ${token}` })).toBe(401);
  });
});

describe("not identified", () => {
  const wrong: Readonly<Record<string, () => Record<string, string>>> = {
    nothing: () => ({}),
    "an empty key": () => ({ "x-api-key": "" }),
    "a key in a different format": () => ({ "x-api-key": "secret" }),
    "a key that was never created": () => ({ "x-api-key": `psk_${"a".repeat(40)}` }),
    "a key with a suffix": () => ({ "x-api-key": `${key}x` }),
    "a key in upper case": () => ({ "x-api-key": key.toUpperCase() }),
    "a key as a token": () => ({ authorization: `Bearer ${key}` }),
    "a token as a key": () => ({ "x-api-key": token }),
    "a token without a scheme": () => ({ authorization: token }),
    "another scheme": () => ({ authorization: `Basic ${btoa(`acme:${key}`)}` }),
    "no token": () => ({ authorization: "Bearer " }),
    "two tokens": () => ({ authorization: `Bearer ${token} ${token}` }),
    "an unsigned token": () => ({ authorization: `Bearer ${forged({ alg: "none" }, { iss: "portside" })}` }),
    "a key in the query": () => ({}),
  };

  test.each(Object.entries(wrong))("by %s", async (what, headers) => {
    const path = what.includes("query") ? `/v1/key/list?api_key=${key}&x-api-key=${key}` : "/v1/key/list";
    const answer = await send(api.url, { path, headers: headers() });
    expect(answer.status).toBe(401);
    expect(answer.headers["www-authenticate"]).toMatch(/Bearer.*ApiKey/);
    expect(Object.keys(JSON.parse(answer.text))).toEqual(["detail"]);
    for (const secret of [key, token]) expect(answer.text).not.toContain(secret);
  });

  test("the response is the same for an almost correct key and for any other", async () => {
    const last = key.endsWith("a") ? "b" : "a";
    const [close, never] = await Promise.all([
      callWith({ "x-api-key": key.slice(0, -1) + last }),
      callWith({ "x-api-key": `psk_${"z".repeat(40)}` }),
    ]);
    expect(close.text).toBe(never.text);
  });
});

test("a revoked key fails from the next request on, and the account's other keys work", async () => {
  const made = (await api.call("POST", "/v1/key/create", { json: { label: "ci" }, account: "acme" })).json;
  expect(await statusWith({ "x-api-key": made.key })).toBe(200);
  const revoked = await api.call("POST", "/v1/key/revoke", { json: { id: made.id }, account: "acme" });
  expect(revoked.json).toEqual({ detail: `The key '${made.id}' is revoked.` });
  expect(await statusWith({ "x-api-key": made.key })).toBe(401);
  expect(await statusWith({ "x-api-key": key })).toBe(200);
});

test("a key may revoke itself", async () => {
  const own = await api.key("gamma");
  const [listed] = (await api.call("GET", "/v1/key/list", { key: own })).json;
  expect((await api.call("POST", "/v1/key/revoke", { json: { id: listed.id }, key: own })).status).toBe(200);
  detailOf(await api.call("GET", "/v1/key/list", { key: own }), 401);
});
