/** Custom domains over HTTP: add, check, list, remove, and the isolation of accounts. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { sourceOf } from "../../../support/archives/archives.ts";
import { serveMemory } from "../../../support/http/api.ts";
import { detailOf, problemsOf } from "../../../support/http/refusals.ts";

let api: Awaited<ReturnType<typeof serveMemory>>;

beforeAll(async () => {
  api = await serveMemory();
  for (const [name, account] of [
    ["app", "acme"],
    ["theirs", "other"],
  ] as const)
    await api.deploy({ function_name: name, volumes: "{}" }, sourceOf({ "index.js": "run()" }), { account });
});
afterAll(() => api[Symbol.asyncDispose]());

const post = (path: string, json: unknown, account?: string) =>
  api.call("POST", path, { json, ...(account === undefined ? {} : { account }) });
const list = async (account = "acme") => (await api.call("GET", "/v1/domain/list", { account })).json;

test("a domain is added, checked, listed and removed", async () => {
  const domain = "app.example.com";
  const added = await post("/v1/domain/add", { domain: "APP.example.com", name: "app" });
  expect(added).toMatchObject({ status: 200, json: { domain, name: "app", status: "pending", checked_at: null } });
  expect(added.json.records.map(({ type }: { type: string }) => type)).toEqual(["TXT", "CNAME"]);
  const pending = await post("/v1/domain/check", { domain });
  expect(pending).toMatchObject({ status: 200, json: { status: "pending" } });
  expect(pending.json.detail).toContain("Create the TXT record '_portside.app.example.com'");
  api.memory.dns.add(...added.json.records);
  const active = await post("/v1/domain/check", { domain });
  expect(active.json).toMatchObject({ status: "active", detail: "Requests to 'app.example.com' reach 'app'." });
  expect(await list()).toEqual([active.json]);
  expect((await post("/v1/domain/remove", { domain })).json).toEqual({
    detail: "'app.example.com' was removed. You can delete its DNS records.",
  });
  detailOf(await post("/v1/domain/remove", { domain }), 404);
  detailOf(await post("/v1/domain/check", { domain }), 404);
  expect(await list()).toEqual([]);
});

test("another account gets 409 for a taken domain, 404 for its check and removal, and cannot use its proof", async () => {
  const domain = "shared.example.com";
  const added = await post("/v1/domain/add", { domain, name: "app" });
  api.memory.dns.add(...added.json.records);
  await post("/v1/domain/check", { domain });
  const theirs = { domain, name: "theirs" };
  const refused = detailOf(await post("/v1/domain/add", theirs, "other"), 409);
  expect(refused).toMatch(/replace the TXT records of '_portside\.shared\.example\.com' with 'portside-verification=/);
  expect(refused).not.toContain("acme");
  detailOf(await post("/v1/domain/check", { domain }, "other"), 404);
  detailOf(await post("/v1/domain/remove", { domain }, "other"), 404);
  expect(await list("other")).toEqual([]);
  expect(await list()).toMatchObject([{ domain, status: "active" }]);
  await post("/v1/domain/remove", { domain });
  await post("/v1/domain/add", theirs, "other");
  expect((await post("/v1/domain/check", { domain }, "other")).json.status).toBe("pending");
});

test("a wrong request fails with 422 on its fields", async () => {
  const add = (json: unknown) => post("/v1/domain/add", json).then(problemsOf);
  expect(await add({ domain: "*.example.com", name: 5, wildcard: true })).toEqual([
    "body.domain: string_pattern_mismatch",
    "body.name: string_type",
    "body.wildcard: extra_forbidden",
  ]);
  expect(await add({})).toEqual(["body.domain: missing", "body.name: missing"]);
  expect(await add({ domain: "co.uk", name: "app" })).toEqual(["body.domain: value_error"]);
  expect(await add({ domain: "x.memory.invalid", name: "app" })).toEqual(["body.domain: value_error"]);
  detailOf(await post("/v1/domain/add", { domain: "b.example.com", name: "none" }), 404);
  detailOf(await post("/v1/domain/add", { domain: "b.example.com", name: "theirs" }), 403);
});

test("the deletion of a deployment removes its domains", async () => {
  await api.deploy({ function_name: "short", volumes: "{}" }, sourceOf({ "index.js": "run()" }));
  await post("/v1/domain/add", { domain: "short.example.com", name: "short" });
  expect(await list()).toHaveLength(1);
  await post("/v1/deployment/delete", { name: "short" });
  expect(await list()).toEqual([]);
});
