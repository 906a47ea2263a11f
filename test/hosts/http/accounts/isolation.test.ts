/**
 * No account can see or change another account's resources. Requests for its deployments, deploys and volumes fail
 * with 403, requests for its keys, secrets, domains and sessions fail with 404, and lists omit them. Every endpoint needs a case here.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sqlTables } from "../../../../core/domain/sql/tables.ts";
import { sourceOf } from "../../../support/archives/archives.ts";
import { recordsOf, serveMemory } from "../../../support/http/api.ts";
import { callEndpoint, endpointNames, type Names } from "../../../support/http/endpoint-calls.ts";
import { detailOf } from "../../../support/http/refusals.ts";

type Case =
  /** Names a resource of the other account, and must fail with this status. */
  | { readonly refused: 403 | 404 | 409 }
  /** Names no resource, or only the caller's own. Checks that the response has no resource of the other account. */
  | { readonly own: (answer: unknown) => void };

const refused = (status: 403 | 404 | 409): Case => ({ refused: status });
const nothingOfOthers: Case = { own: (answer) => expect(answer).toEqual([]) };

const cases: Readonly<Record<string, Case>> = {
  "POST /v1/deploy": refused(403),
  "POST /v1/deploy/plan": refused(403),
  "GET /v1/deploys": { own: (answer) => expect(answer).toEqual({ deploys: [], partial: false }) },
  "POST /v1/deploy/cancel": refused(403),
  "GET /v1/deploy/:deploy_id": refused(403),
  "GET /v1/deployment/check-name": {
    own: (answer) => expect(answer).toEqual({ available: false, reason: "the name is taken; choose another" }),
  },
  "GET /v1/deployment/list": nothingOfOthers,
  "GET /v1/deployment/get": refused(403),
  "POST /v1/deployment/fire": refused(403),
  "POST /v1/deployment/delete": refused(403),
  "POST /v1/deployment/logs": refused(403),
  "POST /v1/logs/histogram": refused(403),
  "POST /v1/logs/values": refused(403),
  "GET /v1/account/usage": {
    own: (answer) => expect(answer).toMatchObject({ deployments: { used: 0 }, volumes: { used: 0 } }),
  },
  "GET /v1/deployment/releases": refused(403),
  "GET /v1/deployment/release-diff": refused(403),
  "POST /v1/deployment/rollback": refused(403),
  "POST /v1/deployment/rollback/plan": refused(403),
  "POST /v1/deployment/restart": refused(403),
  "POST /v1/deployment/env": refused(403),
  "GET /v1/volume/list": nothingOfOthers,
  "POST /v1/volume/delete": refused(403),
  "GET /v1/volume/objects": refused(403),
  "POST /v1/volume/delete-object": refused(403),
  "POST /v1/volume/upload": refused(403),
  "POST /v1/volume/upload-resume": refused(404),
  "POST /v1/volume/download": refused(403),
  "GET /v1/volume/trash": nothingOfOthers,
  "POST /v1/volume/restore": refused(403),
  // Each account has its own volume names, so this creates a volume of the caller. Must follow the other volume cases.
  "POST /v1/volume/create": { own: (answer) => expect(answer).toMatchObject({ name: "data", created: true }) },
  "GET /v1/secret/list": nothingOfOthers,
  "POST /v1/secret/delete": refused(404),
  // Each account has its own secret names, so this creates a secret of the caller. Must follow the other secret cases.
  "POST /v1/secret/set": { own: (answer) => expect(answer).toMatchObject({ version: 1, deploys: [] }) },
  // Names the other account's deployment.
  "POST /v1/domain/add": refused(403),
  "GET /v1/domain/list": nothingOfOthers,
  "POST /v1/domain/check": refused(404),
  "POST /v1/domain/remove": refused(404),
  "GET /v1/user/subscription": { own: (answer) => expect(answer).toMatchObject({ plan: "free" }) },
  "GET /v1/cost": { own: (answer) => expect(answer).toMatchObject({ total: { turns: 0 }, groups: [] }) },
  "GET /v1/metrics": { own: (answer) => expect(answer).toMatchObject({ series: [] }) },
  "POST /v1/sql": { own: (answer) => expect(answer).toEqual([{ n: 0 }]) },
  "GET /v1/sql/schema": { own: (answer) => expect(answer).toEqual({ tables: sqlTables }) },
  "GET /v1/capabilities": { own: (answer) => expect(JSON.stringify(answer)).not.toContain("owner") },
  "POST /v1/key/create": { own: (answer) => expect(answer).toMatchObject({ key: expect.stringMatching(/^psk_/) }) },
  "GET /v1/key/list": { own: (answer) => expect(answer).toMatchObject([{ label: "test" }, { label: "ci" }]) },
  "POST /v1/key/revoke": refused(404),
  "POST /v1/console/link": {
    own: (answer) => expect(answer).toMatchObject({ url: expect.stringContaining("#link=") }),
  },
  // Names no account, and its link is not valid.
  "POST /v1/console/sign-in": refused(403),
  // The caller's key has no session.
  "POST /v1/console/sign-out": refused(409),
  "GET /v1/console/sessions": { own: (answer) => expect(answer).toEqual({ sessions: [] }) },
  "POST /v1/console/revoke": refused(404),
  "POST /v1/token": { own: (answer) => expect(answer).toMatchObject({ access_token: expect.any(String) }) },
};

let api: Awaited<ReturnType<typeof serveMemory>>;
let names: Names;
const archive = sourceOf({ "index.js": "run()" });

beforeAll(async () => {
  api = await serveMemory();
  const secret = { name: "STRIPE_KEY", value: "hunter2" };
  await api.call("POST", "/v1/secret/set", { json: secret, account: "owner" });
  const env = '{"TOKEN":"hunter2","STRIPE":{"secret":"STRIPE_KEY"}}';
  const fields = { function_name: "taken", volumes: "{}", env };
  const records = recordsOf(await api.deploy(fields, archive, { account: "owner" }));
  for (const name of ["data", "old"]) await api.call("POST", "/v1/volume/create", { json: { name }, account: "owner" });
  const domain = { domain: "app.example.com", name: "taken" };
  await api.call("POST", "/v1/domain/add", { json: domain, account: "owner" });
  const upload = await callEndpoint(api, "POST /v1/volume/upload", {}, { account: "owner" });
  await fetch(upload.json.url, { method: "PUT", body: "hunter2" });
  const parts = { volume: "data", object: "large", resumable: true, size: 1 };
  const begun = await api.call("POST", "/v1/volume/upload", { json: parts, account: "owner" });
  await api.call("POST", "/v1/volume/delete", { json: { name: "old" }, account: "owner" });
  const [key] = (await api.call("GET", "/v1/key/list", { account: "owner" })).json;
  await api.call("POST", "/v1/console/sign-in", { json: { key: await api.key("owner") } });
  const { sessions } = (await api.call("GET", "/v1/console/sessions", { account: "owner" })).json;
  const ids = { deployId: records[0].deploy_id, keyId: key.id, uploadId: begun.json.upload_id };
  names = { name: "taken", ...ids, sessionId: sessions[0].id };
});
afterAll(() => api[Symbol.asyncDispose]());

const ownView = async () => {
  const calls = [
    "GET /v1/deployment/list",
    "GET /v1/deployment/releases",
    "GET /v1/key/list",
    "GET /v1/console/sessions",
    "GET /v1/deploy/:deploy_id",
    "POST /v1/deployment/logs",
    "GET /v1/secret/list",
    "GET /v1/domain/list",
    "GET /v1/volume/list",
    "GET /v1/volume/objects",
    "GET /v1/volume/trash",
  ];
  const answers = await Promise.all(calls.map((call) => callEndpoint(api, call, names, { account: "owner" })));
  // These reads update `last_used_at`.
  return answers.map(({ status, text }) => [status, text.replace(/"last_used_at":[^,}]*/g, "")]);
};

test("every endpoint has a case", () => {
  expect(Object.keys(cases).sort()).toEqual([...endpointNames].sort());
});

describe.each(Object.entries(cases))("%s", (endpoint, wanted) => {
  test("gives another account nothing, and changes nothing", async () => {
    const before = await ownView();
    const answer = await callEndpoint(api, endpoint, names, { account: "stranger" });
    if ("refused" in wanted) expect(detailOf(answer, wanted.refused)).not.toContain("owner");
    else wanted.own(answer.json);
    expect(answer.text).not.toMatch(/owner|hunter2|TOKEN/);
    expect(await ownView()).toEqual(before);
  });
});

describe("a name's spelling", () => {
  test("does not matter: `_` equals `-` for other accounts too", async () => {
    await api.deploy({ function_name: "my-app", volumes: "{}" }, archive, { account: "owner" });
    for (const [path, json] of [
      ["/v1/deployment/delete", { name: "my_app" }],
      ["/v1/deployment/logs", { deployment_name: "my_app" }],
    ] as const)
      detailOf(await api.call("POST", path, { json, account: "stranger" }), 403);
    detailOf(await api.deploy({ function_name: "my_app", volumes: "{}" }, archive, { account: "stranger" }), 403);
  });
});

describe("a freed name", () => {
  test("stays reserved for its account for a while, and its log permanently", async () => {
    await api.deploy({ function_name: "freed", volumes: "{}" }, archive, { account: "owner" });
    await api.call("POST", "/v1/deployment/delete", { json: { name: "freed" }, account: "owner" });
    const again = { function_name: "freed", volumes: "{}" };
    detailOf(await api.deploy(again, archive, { account: "stranger" }), 403);
    const logs = { json: { deployment_name: "freed" } };
    detailOf(await api.call("POST", "/v1/deployment/logs", { ...logs, account: "stranger" }), 403);
    expect((await api.call("POST", "/v1/deployment/logs", { ...logs, account: "owner" })).json.logs).not.toEqual([]);
    expect((await api.deploy(again, archive, { account: "owner" })).status).toBe(200);
  });
});

test("one of two accounts that race for an unused name gets it, and the other changes nothing", async () => {
  const fields = { function_name: "raced", volumes: "{}" };
  const accounts = ["owner", "stranger"];
  const answers = await Promise.all(accounts.map((account) => api.deploy(fields, archive, { account })));
  const won = answers.map((answer) => (answer.status === 200 ? recordsOf(answer).at(-1) : answer.status));
  expect(won.filter((last) => last?.status === "DONE")).toHaveLength(1);
  const lost = won.find((last) => last?.status !== "DONE");
  expect(lost === 403 || lost.reason === "name_taken").toBe(true);
  const lists = await Promise.all(accounts.map((account) => api.call("GET", "/v1/deployment/list", { account })));
  expect(lists.flatMap(({ json }) => json).filter(({ name }) => name === "raced")).toHaveLength(1);
});
