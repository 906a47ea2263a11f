/** JSON bodies: one object without repeated or unknown keys, at most 1 MiB, with a JSON content type. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endpoints } from "../../../hosts/http/endpoints.ts";
import { serveMemory } from "../../support/http/api.ts";
import { openRaw } from "../../support/http/clients.ts";
import { sampleOf } from "../../support/http/endpoint-calls.ts";
import { detailOf, problemsOf } from "../../support/http/refusals.ts";

let api: Awaited<ReturnType<typeof serveMemory>>;
beforeAll(async () => {
  api = await serveMemory();
});
afterAll(() => api[Symbol.asyncDispose]());

const MiB = 1024 * 1024;
const remove = (body: string | Uint8Array<ArrayBuffer>, type = "application/json") =>
  api.call("POST", "/v1/deployment/delete", { body, headers: { "content-type": type } });

describe("one object", () => {
  test.each([
    "{",
    "{]",
    '{"name":"x"',
    "nonsense",
    "{'name':'x'}",
    '{"name":"x"} {}',
    "{name:1}",
    '{"a":01}',
    "\ufeff{}",
  ])("%j is not JSON", async (body) => {
    expect(problemsOf(await remove(body))).toEqual(["body: json_invalid"]);
  });

  test("the response repeats nothing of the body", async () => {
    const answer = await remove('{"env": {"TOKEN": hunter2secret}}');
    expect(answer.text).not.toContain("hunter2secret");
  });

  test.each(["[]", '"x"', "1", "null", "true"])("%j is not an object", async (body) => {
    expect(problemsOf(await remove(body))).toEqual(["body: dict_type"]);
  });

  test.each(['{"name":"x","name":"x"}', '{"a":{"b":1,"b":2}}', '{"name":"x","n\\u0061me":"y"}'])(
    "%s has a key twice",
    async (body) => {
      expect(problemsOf(await remove(body))).toEqual(["body: json_invalid"]);
    },
  );

  test("rejects excessive nesting", async () => {
    expect(problemsOf(await remove(`{"name":${"[".repeat(5000)}${"]".repeat(5000)}}`))).toEqual(["body: json_invalid"]);
  });

  test("an empty body is an empty object", async () => {
    expect(problemsOf(await remove(""))).toEqual(["body.name: missing"]);
    expect(problemsOf(await api.call("POST", "/v1/deployment/delete"))).toEqual(["body.name: missing"]);
    expect((await api.call("POST", "/v1/token")).status).toBe(200);
  });
});

describe("the fields of each endpoint", () => {
  const withBody = endpoints.filter(({ kind, method, response }) => {
    return kind === "json" && method === "POST" && response.type !== "never";
  });

  test.each(withBody.map(({ path }) => path))("%s rejects an unknown field, and lists the known ones", async (path) => {
    const sample = (sampleOf(`POST ${path}`).json ?? {}) as object;
    const answer = await api.call("POST", path, { json: { ...sample, naem: 1, __proto__: undefined } });
    expect(problemsOf(answer)).toEqual(["body.naem: extra_forbidden"]);
    expect(answer.json.detail[0].msg).toContain("naem");
  });

  test.each([
    ["/v1/deployment/delete", {}, ["body.name: missing"]],
    ["/v1/deployment/delete", { name: null }, ["body.name: string_type"]],
    ["/v1/deployment/delete", { name: 5 }, ["body.name: string_type"]],
    ["/v1/deployment/delete", { name: {} }, ["body.name: string_type"]],
    ["/v1/deployment/logs", {}, ["body.deployment_name: missing"]],
    ["/v1/deployment/logs", { deployment_name: "a", limit: 0 }, ["body.limit: greater_than_equal"]],
    ["/v1/deployment/logs", { deployment_name: "a", limit: 1001 }, ["body.limit: less_than_equal"]],
    ["/v1/deployment/logs", { deployment_name: "a", limit: 1.5 }, ["body.limit: int_parsing"]],
    ["/v1/deployment/logs", { deployment_name: "a", limit: "many" }, ["body.limit: int_parsing"]],
    ["/v1/deployment/logs", { deployment_name: "a", limit: null }, ["body.limit: int_parsing"]],
    [
      "/v1/deployment/logs",
      { limit: 0, lines: 5 },
      ["body.deployment_name: missing", "body.limit: greater_than_equal", "body.lines: extra_forbidden"],
    ],
    ["/v1/deploy/cancel", {}, ["body.deploy_id: missing"]],
    ["/v1/deploy/cancel", { deploy_id: "" }, ["body.deploy_id: string_too_short"]],
    ["/v1/deploy/cancel", { deploy_id: "x".repeat(65) }, ["body.deploy_id: string_too_long"]],
    ["/v1/deploy/cancel", { deploy_id: ["x"] }, ["body.deploy_id: string_type"]],
    ["/v1/key/create", {}, ["body.label: missing"]],
    ["/v1/key/create", { label: "" }, ["body.label: string_too_short"]],
    ["/v1/key/create", { label: "x".repeat(101) }, ["body.label: string_too_long"]],
    ["/v1/key/create", { label: 1 }, ["body.label: string_type"]],
    ["/v1/key/revoke", {}, ["body.id: missing"]],
    ["/v1/key/revoke", { id: "x".repeat(65) }, ["body.id: string_too_long"]],
  ])("%s with %j", async (path, body, problems) => {
    expect(problemsOf(await api.call("POST", path, { json: body }))).toEqual(problems);
  });

  test("rejects a date-time without an offset", async () => {
    for (const since of ["2026-01-31T09:00:00", "2026-01-31", "yesterday", "1700000000", "2026-02-30T00:00:00Z"]) {
      const answer = await api.call("POST", "/v1/deployment/logs", { json: { deployment_name: "a", since } });
      expect(problemsOf(answer)).toContain("body.since: datetime_parsing");
    }
  });
});

describe("at most 1 MiB", () => {
  const filled = (bytes: number): string => {
    const [start, end] = ['{"name":"', '"}'];
    return start + "x".repeat(bytes - start.length - end.length) + end;
  };

  test("reads a body of exactly 1 MiB, and rejects one more byte", async () => {
    detailOf(await remove(filled(MiB)), 404);
    expect(detailOf(await remove(filled(MiB + 1)), 413)).toBe(
      "The body is larger than the limit of 1 MiB. Send a smaller body.",
    );
  });

  test("rejects a larger body without a Content-Length, too", async () => {
    const key = await api.key();
    const { socket, received } = openRaw(api.url);
    const head = [
      "POST /v1/deployment/delete HTTP/1.1",
      "Host: x",
      `X-API-Key: ${key}`,
      "Content-Type: application/json",
    ];
    socket.write(`${[...head, "Transfer-Encoding: chunked"].join("\r\n")}\r\n\r\n${(MiB + 1).toString(16)}\r\n`);
    socket.write("x".repeat(MiB + 1));
    expect(await received("}")).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });

  test("a client that sends ten times as much always receives the response", async () => {
    for (let time = 0; time < 10; time++) detailOf(await remove(filled(10 * MiB)), 413);
  });
});

describe("content types", () => {
  test.each([
    "application/json",
    "application/json; charset=utf-8",
    "Application/JSON",
    "application/json;charset=UTF-8",
  ])("accepts %s", async (type) => {
    detailOf(await remove('{"name":"x"}', type), 404);
  });

  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/jsonp",
    "multipart/form-data; boundary=x",
  ])("rejects %s", async (type) => {
    expect(detailOf(await remove('{"name":"x"}', type), 415)).toContain("application/json");
  });

  test("rejects a body without a content type", async () => {
    const answer = await api.call("POST", "/v1/deployment/delete", { body: new Uint8Array([1]) });
    detailOf(answer, 415);
  });

  test("requires a form for form endpoints", async () => {
    for (const path of ["/v1/deploy", "/v1/deploy/plan"]) {
      expect(detailOf(await api.call("POST", path, { json: {} }), 415)).toContain("multipart/form-data");
      detailOf(await api.call("POST", path), 415);
    }
  });
});
