/** An unknown path returns 404. A method that a path does not support returns 405 and lists the supported methods. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endpoints } from "../../../hosts/http/endpoints.ts";
import { serveMemory } from "../../support/http/api.ts";
import { sendRaw } from "../../support/http/clients.ts";
import { detailOf } from "../../support/http/refusals.ts";

let api: Awaited<ReturnType<typeof serveMemory>>;
beforeAll(async () => {
  api = await serveMemory();
});
afterAll(() => api[Symbol.asyncDispose]());

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const paths = [...new Set(endpoints.map(({ path }) => path))];
const open = ["/health", "/ready", "/openapi.json", "/schema/portside.json", "/docs", "/docs/", "/"];

describe.each([...paths, ...open])("%s", (path) => {
  const needsKey = !open.includes(path);
  const has = needsKey ? endpoints.filter((one) => one.path === path).map(({ method }) => method as string) : ["GET"];
  const url = path.replace(":deploy_id", "some-deploy");
  const wrong = methods.filter((method) => !has.includes(method));

  test.each(wrong)("returns 405 for %s", async (method) => {
    const answer = await api.call(method, url, needsKey ? {} : { key: null });
    detailOf(answer, 405);
    expect(
      answer.headers
        .get("allow")
        ?.split(", ")
        .filter((one) => one !== "HEAD"),
    ).toEqual(has);
    expect(answer.headers.get("x-request-id")).toMatch(/./);
  });

  test("supports HEAD for every GET, and lists it in Allow", async () => {
    const head = await api.call("HEAD", url, needsKey ? {} : { key: null });
    if (!has.includes("GET")) return expect(head.status).toBe(405);
    expect(head.status).not.toBe(405);
    const answer = await api.call("DELETE", url);
    return expect(answer.headers.get("allow")).toBe("GET, HEAD");
  });

  if (!needsKey) return;
  test("responds with 405 only to callers with a credential", async () => {
    detailOf(await api.call(wrong[0] as string, url, { key: null }), 401);
  });
});

test("checks the method before the body and its content type", async () => {
  for (const headers of [{ "content-type": "text/plain" }, { "content-type": "application/json" }] as Record<
    string,
    string
  >[])
    detailOf(await api.call("PUT", "/v1/deployment/delete", { body: "{", headers }), 405);
});

describe("unknown paths", () => {
  test.each([
    "/v1",
    "/v1/",
    "/v2/deploy",
    "/v1/deployments",
    "/v1/deployment/list/",
    "/V1/deploy",
    "/v1//deploy",
    "/v1/deploy/a/b",
    "/v1/deployment/%6cist2",
    "/v1/%zz",
    "/%",
    "/docs/nothing",
    `/v1/deploy/${"x".repeat(500)}`,
  ])("%s", async (path) => {
    for (const method of ["GET", "POST"]) {
      const answer = await api.call(method, path, { key: null });
      if (answer.status === 405) continue;
      detailOf(answer, 404);
      expect(answer.headers.get("x-request-id")).toMatch(/./);
    }
  });
});

describe("bytes that are not HTTP get a response in the same format", () => {
  test.each([
    ["nonsense", "NONSENSE\r\n\r\n", 400],
    ["a header without end", `GET /health HTTP/1.1\r\nHost: x\r\nX: ${"x".repeat(100_000)}\r\n\r\n`, 431],
  ])("%s", async (_what, bytes, status) => {
    const came = await sendRaw(api.url, bytes);
    expect(came).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(came).toMatch(/\r\nX-Request-Id: \S+\r\n/);
    expect(JSON.parse(came.slice(came.indexOf("{")))).toEqual({ detail: expect.any(String) });
  });
});
