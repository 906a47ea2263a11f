/** Secrets over HTTP: set, refer, list, redeploy, delete. No response and no line of the server's log has a value. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { sourceOf } from "../../../support/archives/archives.ts";
import { type ApiResponse, recordsOf, serveMemory } from "../../../support/http/api.ts";
import { detailOf, problemsOf } from "../../../support/http/refusals.ts";

const VALUE = "hunter2 /+=";
const forms = /hunter2|aHVudGVyMi|hunter2%20/;

let api: Awaited<ReturnType<typeof serveMemory>>;
const answers: ApiResponse[] = [];

beforeAll(async () => {
  api = await serveMemory();
});
afterAll(() => api[Symbol.asyncDispose]());

const kept = async (answer: Promise<ApiResponse>) => {
  answers.push(await answer);
  return answer;
};
const post = (path: string, json: unknown) => kept(api.call("POST", path, { json }));
const get = (path: string) => kept(api.call("GET", path));
const deploy = (env: object, fields: Readonly<Record<string, string>> = {}) =>
  kept(
    api.deploy(
      { function_name: "app", volumes: "{}", env: JSON.stringify(env), ...fields },
      sourceOf({ "index.js": "run()" }),
    ),
  );

test("a secret is set, used, set again, listed and deleted", async () => {
  const first = await post("/v1/secret/set", { name: "KEY", value: VALUE });
  expect(first.json).toEqual({ name: "KEY", version: 1, digest: expect.stringMatching(/^hmac:/), deploys: [] });
  expect(recordsOf(await deploy({ TOKEN: { secret: "KEY" } })).at(-1)).toMatchObject({ status: "DONE" });
  const second = await post("/v1/secret/set", { name: "KEY", value: `${VALUE}2` });
  expect(second.json.deploys).toEqual([{ name: "app", deploy_id: expect.any(String) }]);
  const records = recordsOf(await get(`/v1/deploy/${second.json.deploys[0].deploy_id}`));
  expect(new Set(records.map(({ status }: { status: string }) => status))).toEqual(new Set(["DEPLOYING", "DONE"]));
  expect((await get("/v1/secret/list")).json).toEqual([
    {
      name: "KEY",
      versions: [
        { version: 2, digest: second.json.digest, created_at: expect.any(String) },
        { version: 1, digest: first.json.digest, created_at: expect.any(String) },
      ],
      used_by: [{ name: "app", version: 2 }],
    },
  ]);
  expect((await get("/v1/deployment/releases?name=app")).json.releases[0]).toMatchObject({ secrets: { KEY: 2 } });
  expect(detailOf(await post("/v1/secret/delete", { name: "KEY" }), 409)).toContain("is used by 'app'");
  await deploy({});
  expect((await post("/v1/secret/delete", { name: "KEY" })).json).toEqual({ detail: "'KEY' was deleted." });
  detailOf(await post("/v1/secret/delete", { name: "KEY" }), 404);
});

test("a wrong request fails with 422 on its fields", async () => {
  const set = (json: unknown) => post("/v1/secret/set", json).then(problemsOf);
  expect(await set({ name: "1", value: 5, redeploy: "x", hunter: 1 })).toEqual([
    "body.hunter: extra_forbidden",
    "body.name: string_pattern_mismatch",
    "body.redeploy: bool_parsing",
    "body.value: string_type",
  ]);
  expect(await set({ name: "KEY", value: `${VALUE}\0` })).toEqual(["body.value: value_error"]);
  expect(await set({ name: "KEY", value: [VALUE] })).toEqual(["body.value: string_type"]);
  expect(await set({})).toEqual(["body.name: missing", "body.value: missing"]);
  const cut = { body: `{"name": "KEY", "value": "${VALUE}`, headers: { "content-type": "application/json" } };
  expect((await kept(api.call("POST", "/v1/secret/set", cut))).status).toBe(422);
  expect(problemsOf(await deploy({ TOKEN: { secret: "NONE" } }, { function_name: "other" }))).toEqual([
    "body.env.TOKEN: value_error",
  ]);
});

test("no response had a value", () => {
  expect(answers.length).toBeGreaterThan(15);
  for (const { text, headers } of answers) expect(`${text} ${[...headers].join()}`).not.toMatch(forms);
});
