/** Every endpoint of the contract exists, authenticates the caller first, and reports missing capabilities. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serveMemory } from "../../support/http/api.ts";
import { openRaw } from "../../support/http/clients.ts";
import { callEndpoint, endpointNames, privateEndpointNames, sampleOf } from "../../support/http/endpoint-calls.ts";
import { detailOf, problemsOf } from "../../support/http/refusals.ts";
import { minimalCapabilities } from "../../support/providers/capabilities.ts";

/** Contract sections 2, 4, 5, 7, 9, 14, 15, 17 and 19, word for word. */
const contract = [
  "GET /v1/account/usage",
  "GET /v1/capabilities",
  "GET /v1/console/sessions",
  "GET /v1/cost",
  "GET /v1/deploy/:deploy_id",
  "GET /v1/deployment/check-name",
  "GET /v1/deployment/get",
  "GET /v1/deployment/list",
  "GET /v1/deployment/release-diff",
  "GET /v1/deployment/releases",
  "GET /v1/deploys",
  "GET /v1/domain/list",
  "GET /v1/key/list",
  "GET /v1/metrics",
  "GET /v1/secret/list",
  "GET /v1/sql/schema",
  "GET /v1/user/subscription",
  "GET /v1/volume/list",
  "GET /v1/volume/objects",
  "GET /v1/volume/trash",
  "POST /v1/console/link",
  "POST /v1/console/revoke",
  "POST /v1/console/sign-in",
  "POST /v1/console/sign-out",
  "POST /v1/deploy",
  "POST /v1/deploy/cancel",
  "POST /v1/deploy/plan",
  "POST /v1/deployment/delete",
  "POST /v1/deployment/env",
  "POST /v1/deployment/fire",
  "POST /v1/deployment/logs",
  "POST /v1/deployment/restart",
  "POST /v1/deployment/rollback",
  "POST /v1/deployment/rollback/plan",
  "POST /v1/domain/add",
  "POST /v1/domain/check",
  "POST /v1/domain/remove",
  "POST /v1/key/create",
  "POST /v1/key/revoke",
  "POST /v1/logs/histogram",
  "POST /v1/logs/values",
  "POST /v1/secret/delete",
  "POST /v1/secret/set",
  "POST /v1/sql",
  "POST /v1/token",
  "POST /v1/volume/create",
  "POST /v1/volume/delete",
  "POST /v1/volume/delete-object",
  "POST /v1/volume/download",
  "POST /v1/volume/restore",
  "POST /v1/volume/upload",
  "POST /v1/volume/upload-resume",
];

let api: Awaited<ReturnType<typeof serveMemory>>;
beforeAll(async () => {
  api = await serveMemory();
});
afterAll(() => api[Symbol.asyncDispose]());

test("has the endpoints of the contract", () => {
  expect([...endpointNames].sort()).toEqual(contract);
});

describe.each(endpointNames)("%s", (endpoint) => {
  const [method = ""] = endpoint.split(" ");

  test("is routed", async () => {
    const answer = await callEndpoint(api, endpoint);
    // The deployment has no schedule to fire, the request has no session, and the link is not valid.
    const others = { "/fire": 409, "/sign-out": 409, "/sign-in": 403 };
    const other = Object.entries(others).find(([end]) => endpoint.endsWith(end))?.[1];
    expect([200, 404, 501, other]).toContain(answer.status);
    if (answer.status !== 200)
      expect(detailOf(answer, answer.status)).not.toBe("No endpoint has this path. See /docs for the endpoints.");
  });

  if (!privateEndpointNames.includes(endpoint)) return;
  test("checks the credential before the request", async () => {
    const without = await callEndpoint(api, endpoint, {}, { key: null });
    detailOf(without, 401);
    expect(without.headers.get("www-authenticate")).toMatch(/Bearer/);
    const wrongInEveryWay = { key: "psk_wrong", body: "{", headers: { "content-type": "text/nonsense" } };
    const answer = await api.call(
      method,
      sampleOf(endpoint).path,
      method === "GET" ? { key: "psk_wrong" } : wrongInEveryWay,
    );
    detailOf(answer, 401);
  });

  if (method === "GET") return;
  test("checks the credential before the body arrives", async () => {
    const connection = openRaw(api.url);
    const type = sampleOf(endpoint).form === undefined ? "application/json" : "multipart/form-data; boundary=x";
    const head = [`${method} ${sampleOf(endpoint).path} HTTP/1.1`, "Host: x", `Content-Type: ${type}`];
    connection.socket.write(`${[...head, "Content-Length: 1000000"].join("\r\n")}\r\n\r\n`);
    expect(await connection.received("}")).toMatch(/^HTTP\/1\.1 401 /);
    connection.socket.destroy();
  });
});

describe("without a capability", () => {
  // biome-ignore lint/suspicious/noExplicitAny: each function reads a different part of the record
  const lacking: Readonly<Record<string, (capabilities: any) => { reason: string }>> = {
    "/v1/volume/": ({ volumes }) => volumes.store,
    "/v1/secret/": ({ secrets }) => secrets,
    "/v1/domain/": ({ domains }) => domains,
    "/v1/sql": ({ sql }) => sql.queries,
    "/v1/user/subscription": ({ subscription }) => subscription,
  };
  const { volumes, cron, sql, secrets, domains } = minimalCapabilities;
  const subscription = { supported: false, reason: "nothing is sold here" } as const;
  const lackingAll = { volumes, cron, sql, secrets, domains, subscription };
  const missing = endpointNames.filter((endpoint) => /\/v1\/(volume|secret|domain|sql|user)/.test(endpoint));

  test.each(missing)("%s returns 501 with the reason", async (endpoint) => {
    await using api = await serveMemory({ capabilities: lackingAll });
    const capabilities = (await api.call("GET", "/v1/capabilities")).json;
    const [, wanted] = Object.entries(lacking).find(([path]) => endpoint.includes(path)) ?? [];
    const reason = wanted?.(capabilities).reason;
    expect(reason).toMatch(/\S/);
    expect(detailOf(await callEndpoint(api, endpoint), 501)).toBe(reason);
  });

  test("a deploy with a field that needs it returns 422 with the field and the reason", async () => {
    await using api = await serveMemory({ capabilities: lackingAll });
    const { volumes, cron, secrets } = (await api.call("GET", "/v1/capabilities")).json;
    const deploy = async (fields: Record<string, string>) => {
      const answer = await api.deploy({ function_name: "app", volumes: "{}", ...fields }, undefined, {
        path: "/v1/deploy/plan",
      });
      return [problemsOf(answer), answer.json.detail[0].msg];
    };
    expect(await deploy({ volumes: '{"/data":"v"}' })).toEqual([["body.volumes: unsupported"], volumes.mounts.reason]);
    expect(await deploy({ env: '{"KEY":{"secret":"KEY"}}' })).toEqual([
      ["body.env.KEY: unsupported"],
      `${secrets.reason}; set the value instead`,
    ]);
    expect(await deploy({ schedule: "0 9 * * *" })).toEqual([["body.schedule: unsupported"], cron.schedules.reason]);
  });
});
