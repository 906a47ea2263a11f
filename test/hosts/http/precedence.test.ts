/**
 * If several errors apply, the server returns the first of: 401, 429, 415, 413, 422, 501, 403, 404, 409, 503 (contract
 * section 3).
 */
import { describe, expect, test } from "vitest";
import { faulty } from "../../../adapters/memory/index.ts";
import { unavailable } from "../../../core/errors.ts";
import type { Ports } from "../../../core/ports/provider.ts";
import { sourceOf } from "../../support/archives/archives.ts";
import { type ApiResponse, serveMemory, type TestApi } from "../../support/http/api.ts";
import { type DiskApi, serveOnDisk } from "../../support/http/disk-api.ts";
import { callEndpoint } from "../../support/http/endpoint-calls.ts";
import { detailOf, problemsOf } from "../../support/http/refusals.ts";
import { minimalCapabilities } from "../../support/providers/capabilities.ts";

const archive = sourceOf({ "index.js": "run()" });
const TOO_LONG = `{"name":"${"x".repeat(1024 * 1024)}"}`;
const json = { "content-type": "application/json" };
const text = { "content-type": "text/plain" };

const remove = (api: TestApi, options: object): Promise<ApiResponse> =>
  api.call("POST", "/v1/deployment/delete", { account: "acme", ...options });

/** A platform on which `beta` has the deployment `taken`. */
const withTaken = async (wrap?: (ports: Ports) => Ports): Promise<DiskApi> => {
  const api = await serveOnDisk({}, wrap);
  await api.deploy({ function_name: "taken", volumes: "{}" }, archive, { account: "beta" });
  return api;
};

const downFrom =
  (call: number) =>
  (ports: Ports): Ports => {
    const spool = faulty(ports.provider.spool, ({ count }) =>
      count >= call ? { error: unavailable("full", 7) } : undefined,
    );
    return { ...ports, provider: { ...ports.provider, spool } };
  };

test("401 before 429, 415, 413 and 422", async () => {
  await using api = await serveOnDisk({ accountLimits: { requestsPerMinute: 1 } });
  await remove(api, { json: { name: "x" } });
  detailOf(await remove(api, { key: null, body: TOO_LONG, headers: text }), 401);
});

test("429 before 415, 413 and 422", async () => {
  await using api = await serveOnDisk({ accountLimits: { requestsPerMinute: 1 } });
  await remove(api, { json: { name: "x" } });
  for (const options of [{ body: "{", headers: text }, { body: TOO_LONG, headers: json }, { json: {} }]) {
    const answer = await remove(api, options);
    detailOf(answer, 429);
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
  }
});

test("415 before 413 and 422", async () => {
  await using api = await serveOnDisk();
  detailOf(await remove(api, { body: TOO_LONG, headers: text }), 415);
  detailOf(await remove(api, { body: "{", headers: text }), 415);
});

test("413 before 422", async () => {
  await using api = await serveOnDisk();
  detailOf(await remove(api, { body: TOO_LONG.slice(1), headers: json }), 413);
});

describe("422 before 403", () => {
  test("in a body", async () => {
    await using api = await withTaken();
    expect(problemsOf(await remove(api, { json: { name: "taken", force: true } }))).toEqual([
      "body.force: extra_forbidden",
    ]);
    const logs = { deployment_name: "taken", limit: 0 };
    const read = await api.call("POST", "/v1/deployment/logs", { json: logs });
    expect(problemsOf(read)).toEqual(["body.limit: greater_than_equal"]);
  });

  test("in a form", async () => {
    await using api = await withTaken();
    const answer = await api.deploy({ function_name: "taken", volumes: "{}", port: "0" }, archive);
    expect(problemsOf(answer)).toEqual(["body.port: greater_than_equal"]);
    expect(await api.spooled()).toEqual([]);
  });

  test("in a query", async () => {
    await using api = await withTaken();
    const list = await api.call("GET", "/v1/deployment/list", { account: "beta" });
    const { deploy_id } = list.json[0].last_deploy;
    const answer = await api.call("GET", `/v1/deploy/${deploy_id}?after=-1`, { account: "acme" });
    expect(problemsOf(answer)).toEqual(["query.after: greater_than_equal"]);
  });
});

test("403 before 404: the owner is checked before the existence", async () => {
  await using api = await withTaken();
  detailOf(await remove(api, { json: { name: "taken" } }), 403);
  detailOf(await remove(api, { json: { name: "free" } }), 404);
});

test("422 before 501: invalid JSON is reported at every endpoint", async () => {
  await using api = await serveMemory({ capabilities: { sql: minimalCapabilities.sql } });
  const answer = await api.call("POST", "/v1/sql", { body: "{", headers: json });
  expect(problemsOf(answer)).toEqual(["body: json_invalid"]);
  detailOf(await callEndpoint(api, "POST /v1/sql"), 501);
});

describe("503 comes last", () => {
  test("after 422: a broken field takes precedence over a full spool", async () => {
    await using api = await serveOnDisk({}, downFrom(1));
    for (const fields of [{ port: "0" }, { prot: "1" }] as Record<string, string>[]) {
      const answer = await api.deploy({ function_name: "app", volumes: "{}", ...fields }, archive);
      expect(problemsOf(answer)).toHaveLength(1);
    }
  });

  test("after 403: another account's name takes precedence over a full spool", async () => {
    await using api = await withTaken(downFrom(2));
    detailOf(await api.deploy({ function_name: "taken", volumes: "{}" }, archive), 403);
  });

  test("with Retry-After", async () => {
    await using api = await serveOnDisk({}, downFrom(1));
    const answer = await api.deploy({ function_name: "app", volumes: "{}" }, archive);
    detailOf(answer, 503);
    expect(answer.headers.get("retry-after")).toBe("7");
  });
});
