/** A bug returns 500 with the request id only, in any layer. The server continues to serve. */
import { describe, expect, test } from "vitest";
import { createMemoryProvider } from "../../../adapters/memory/index.ts";
import { type AccountId, parseAccount } from "../../../core/domain/accounts/account.ts";
import { sourceOf } from "../../support/archives/archives.ts";
import { recordsOf, serveApi } from "../../support/http/api.ts";
import { callEndpoint, endpointNames } from "../../support/http/endpoint-calls.ts";
import { type Breaking, SECRET_WORDS, throwingPorts } from "../../support/http/throwing-ports.ts";

/** An API with broken ports, and a key that was created before they broke. */
const serveBroken = async (how: Breaking, only: (method: string) => boolean) => {
  const memory = createMemoryProvider();
  const made = await memory.identity.keys.create(parseAccount("acme") as AccountId, "test");
  const api = await serveApi(throwingPorts(memory.ports, how, only));
  return { api, key: made._unsafeUnwrap().key };
};

/** Endpoints that call no port of the provider, so they respond as usual. */
const portless = /capabilities|sql\/schema|sign-out|GET \/v1\/deploy\/|deploy\/cancel/;
const headers = { "x-request-id": "the-request" };

describe.each(["throws", "rejects"] as const)("a port that %s", (how) => {
  test.each(endpointNames)("%s reveals no details", async (endpoint) => {
    const { api, key } = await serveBroken(how, (method) => !method.startsWith("authenticator"));
    await using _api = api;
    const answer = await callEndpoint(api, endpoint, {}, { key, headers });
    expect(answer.text).not.toMatch(/hunter2|hidden|beta|TypeError|\bat \//);
    if (portless.test(endpoint)) return expect(answer.status).not.toBe(500);
    expect(answer.status).toBe(500);
    expect(answer.headers.get("x-request-id")).toBe("the-request");
    return expect(answer.json).toEqual({
      detail: "Internal error. Report it to the operator with the request id the-request.",
    });
  });

  test("during authentication leads to 500", async () => {
    const { api, key } = await serveBroken(how, (method) => method.startsWith("authenticator"));
    await using _api = api;
    const answer = await api.call("GET", "/v1/deployment/list", { key, headers });
    expect([answer.status, answer.json.detail]).toEqual([
      500,
      "Internal error. Report it to the operator with the request id the-request.",
    ]);
    expect((await api.call("GET", "/health", { key: null })).status).toBe(200);
  });

  test("during a health check reveals no details", async () => {
    const { api } = await serveBroken(how, (method) => method === "provider.check");
    await using _api = api;
    const answer = await api.call("GET", "/ready", { key: null, headers });
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect(answer.text).not.toContain("hunter2");
    expect(Object.keys(answer.json)).toEqual(["detail"]);
  });

  test("during a stream ends it with the reason `internal`", async () => {
    const { api, key } = await serveBroken(how, (method) => method === "builder.build");
    await using _api = api;
    const archive = sourceOf({ "index.js": "run()" });
    const answer = await api.deploy({ function_name: "app", volumes: "{}" }, archive, { key });
    expect(answer.status).toBe(200);
    expect(recordsOf(answer).at(-1)).toMatchObject({ status: "ERROR", reason: "internal" });
    expect(answer.text).not.toContain(SECRET_WORDS);
    expect(answer.text).not.toMatch(/hunter2|TypeError/);
  });
});
