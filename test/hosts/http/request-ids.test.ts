/** Every response has a request id: the client's own if it sent a valid one, otherwise a generated one. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sourceOf } from "../../support/archives/archives.ts";
import { serveMemory } from "../../support/http/api.ts";
import { sendRaw } from "../../support/http/clients.ts";
import { callEndpoint, endpointNames } from "../../support/http/endpoint-calls.ts";

let api: Awaited<ReturnType<typeof serveMemory>>;
beforeAll(async () => {
  api = await serveMemory();
});
afterAll(() => api[Symbol.asyncDispose]());

const OURS = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const idFor = async (given: string): Promise<string | null> => {
  const answer = await api.call("GET", "/v1/key/list", { headers: { "x-request-id": given } });
  return answer.headers.get("x-request-id");
};

test.each(["abc", "7", "a".repeat(128), "0af7651916cd43dd8448eb211c80319c", "req_1.2-3:4/5+6=7"])(
  "returns the client's id %j",
  async (id) => {
    expect(await idFor(id)).toBe(id);
  },
);

test.each(["a b", "a,b", "a".repeat(129), "a;b", "<script>", '"', "a\u00e9"])(
  "replaces the invalid id %j",
  async (id) => {
    expect(await idFor(id)).toMatch(OURS);
  },
);

test("replaces two ids with a generated one", async () => {
  const key = await api.key();
  const head = ["GET /v1/key/list HTTP/1.1", "Host: x", `X-API-Key: ${key}`, "X-Request-Id: one", "X-Request-Id: two"];
  const came = await sendRaw(api.url, `${[...head, "Connection: close"].join("\r\n")}\r\n\r\n`);
  const [, id] = /x-request-id: (\S+)/i.exec(came) ?? [];
  expect(id).toMatch(OURS);
});

test("generated ids are unique", async () => {
  const ids = await Promise.all(Array.from({ length: 20 }, () => idFor("not sane")));
  expect(new Set(ids).size).toBe(20);
});

describe("in every response", () => {
  test.each(endpointNames)("%s", async (endpoint) => {
    for (const options of [{}, { key: null }, { key: "wrong" }]) {
      const headers = { "x-request-id": "mine" };
      const answer = await callEndpoint(api, endpoint, {}, { ...options, headers });
      expect(answer.headers.get("x-request-id")).toBe("mine");
    }
  });

  test.each(["/health", "/ready", "/openapi.json", "/docs", "/schema/portside.json", "/nothing", "/%"])(
    "%s",
    async (path) => {
      const answer = await api.call("GET", path, { key: null, headers: { "x-request-id": "mine" } });
      expect(answer.headers.get("x-request-id")).toBe("mine");
    },
  );

  test("a rejected form, and a stream", async () => {
    const headers = { "x-request-id": "mine" };
    const archive = sourceOf({ "index.js": "run()" });
    const refused = await api.deploy({ function_name: "app" }, archive, { headers });
    const taken = await api.deploy({ function_name: "app", volumes: "{}" }, archive, { headers });
    expect([refused.status, taken.status]).toEqual([422, 200]);
    for (const answer of [refused, taken]) expect(answer.headers.get("x-request-id")).toBe("mine");
  });

  test("a body that is too long or has the wrong type", async () => {
    const headers = { "x-request-id": "mine", "content-type": "application/json" };
    const long = await api.call("POST", "/v1/sql", { body: "x".repeat(2_000_000), headers });
    const wrong = await api.call("POST", "/v1/sql", {
      body: "x",
      headers: { ...headers, "content-type": "text/plain" },
    });
    expect([long.status, wrong.status]).toEqual([413, 415]);
    for (const answer of [long, wrong]) expect(answer.headers.get("x-request-id")).toBe("mine");
  });
});
