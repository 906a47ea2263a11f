/** Known query parameters are validated; unknown ones are ignored. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serveMemory } from "../../support/http/api.ts";
import { problemsOf } from "../../support/http/refusals.ts";

let api: Awaited<ReturnType<typeof serveMemory>>;
beforeAll(async () => {
  api = await serveMemory();
});
afterAll(() => api[Symbol.asyncDispose]());

const check = (query: string) => api.call("GET", `/v1/deployment/check-name${query}`);

describe("check-name", () => {
  test("rejects a missing name", async () => {
    expect(problemsOf(await check(""))).toEqual(["query.name: missing"]);
  });

  test("rejects a repeated name", async () => {
    expect(problemsOf(await check("?name=a&name=b"))).toEqual(["query.name: string_type"]);
  });

  test.each([
    ["app", true, /^$/],
    ["my_app", true, /^$/],
    ["a".repeat(49), true, /^$/],
    ["", false, /must not be empty/],
    ["a".repeat(50), false, /at most 49/],
    ["1app", false, /must start with a letter/],
    ["App", false, /must contain only lowercase letters/],
    ["app-", false, /must not end with '-'/],
    ["api", false, /reserved/],
  ])("%j", async (name, available, reason) => {
    const answer = await check(`?name=${name}`);
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({ available, reason: expect.stringMatching(reason) });
  });
});

describe("unknown parameters are ignored", () => {
  test.each([
    "/v1/deployment/check-name?name=app&verbose=1&name[]=x&__proto__=x",
    "/v1/deployment/list?page=2",
    "/v1/capabilities?x",
    "/v1/key/list?=",
  ])("%s", async (path) => {
    expect((await api.call("GET", path)).status).toBe(200);
  });

  test("in a request with a body, too", async () => {
    const answer = await api.call("POST", "/v1/key/create?label=query", { json: { label: "body" } });
    expect(answer.status).toBe(200);
  });
});

test.each([
  ["x", "int_parsing"],
  ["-1", "greater_than_equal"],
  ["1.5", "int_parsing"],
  ["", "int_parsing"],
  ["1&after=2", "int_parsing"],
])("a deploy cannot be resumed after %j", async (after, type) => {
  expect(problemsOf(await api.call("GET", `/v1/deploy/some-deploy?after=${after}`))).toEqual([`query.after: ${type}`]);
});
