/** The real log at its most verbose level has a line per request, and no key, token or environment value. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { forged } from "../../../support/accounts/token-issuer.ts";
import { sourceOf } from "../../../support/archives/archives.ts";
import { openRaw, send } from "../../../support/http/clients.ts";
import { formType } from "../../../support/http/multipart.ts";
import { deployForm } from "../../../support/http/record-stream.ts";
import { type ServerProcess, startServer } from "../../../support/http/server-process.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

const VALUE = "hunter2-value-of-the-environment";
let server: ServerProcess;
const secrets: string[] = [VALUE];

const post = async (path: string, key: string, json: unknown) => {
  const headers = { "x-api-key": key, "content-type": "application/json" };
  return send(server.url, { method: "POST", path, headers, body: JSON.stringify(json) });
};

const deploy = async (key: string, fields: Readonly<Record<string, string>>): Promise<string> => {
  const body = deployForm({ function_name: "app", volumes: "{}", ...fields }, sourceOf({ "index.js": "run()" }));
  const response = await fetch(`${server.url}/v1/deploy`, { method: "POST", headers: { "x-api-key": key }, body });
  return response.text();
};

/** Every line of the log, as data. */
// biome-ignore lint/suspicious/noExplicitAny: the test checks lines of any type
const lines = (): any[] =>
  server
    .log()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

beforeAll(async () => {
  server = await startServer("debug");
  const key = await server.key();
  const made = JSON.parse((await post("/v1/key/create", key, { label: "ci" })).text);
  const token = JSON.parse((await post("/v1/token", key, {})).text).access_token;
  const unsigned = forged({ alg: "none" }, { iss: "portside", sub: "acme" });
  secrets.push(key, made.key, token, unsigned, `psk_${"w".repeat(40)}`);
  // Every kind of credential, valid and invalid.
  await send(server.url, { path: "/v1/key/list", headers: { authorization: `Bearer ${token}` } });
  await send(server.url, { path: "/v1/key/list", headers: { authorization: `Bearer ${unsigned}` } });
  await send(server.url, { path: "/v1/key/list", headers: { "x-api-key": `psk_${"w".repeat(40)}` } });
  await send(server.url, {
    path: `/v1/key/list?api_key=${key}&token=${token}`,
    headers: { cookie: `session=${token}` },
  });
  // Environments: accepted, changed and invalid.
  await deploy(key, { env: JSON.stringify({ TOKEN: VALUE }) });
  await deploy(key, { env: JSON.stringify({ TOKEN: `${VALUE}2`, OTHER: VALUE }) });
  await deploy(key, { env: JSON.stringify({ PORT: VALUE }) });
  await deploy(key, { env: `{"TOKEN": ${VALUE}}` });
  await deploy(key, { env: JSON.stringify({ TOKEN: VALUE }), function_name: "BAD", unknown: VALUE });
  await post("/v1/deployment/logs", key, { deployment_name: "app" });
  // A client that disconnects halfway through a body: JSON, then a form.
  for (const type of ["application/json", formType]) {
    const path = type === formType ? "/v1/deploy" : "/v1/deployment/delete";
    const head = [
      `POST ${path} HTTP/1.1`,
      "Host: x",
      `X-API-Key: ${key}`,
      `Content-Type: ${type}`,
      "Content-Length: 999",
    ];
    const { socket } = openRaw(server.url);
    await new Promise((resolve) => socket.write(`${head.join("\r\n")}\r\n\r\n{"TOKEN":"${VALUE}`, resolve));
    socket.destroy();
  }
  await post("/v1/key/revoke", key, { id: made.id });
  await eventually(() => expect(lines().at(-1)?.path).toBe("/v1/key/revoke"));
});

afterAll(() => server[Symbol.asyncDispose]());

test("contains no secret, not even a part of one", () => {
  expect(secrets).toHaveLength(6);
  for (const secret of secrets) {
    expect(server.log()).not.toContain(secret);
    expect(server.log()).not.toContain(secret.slice(12, 32));
  }
});

test("has a line per request with account, path, status and id, but without the query", () => {
  const requests = lines().filter(({ msg }) => msg === "request");
  expect(requests.length).toBeGreaterThanOrEqual(13);
  for (const { requestId, method, path, status, ms } of requests) {
    expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
    expect(["GET", "POST"]).toContain(method);
    expect(path).toMatch(/^\/v1\/[a-z/-]+$/);
    expect(status).toBeTypeOf("number");
    expect(ms).toBeTypeOf("number");
  }
  const accounts = requests.map(({ account, status }) => [status === 401, account]);
  for (const [unknown, account] of accounts) expect(account).toBe(unknown ? undefined : "acme");
});

test("does not log client errors and disconnects as errors", () => {
  expect(lines().filter(({ level }) => level >= 40)).toEqual([]);
});
