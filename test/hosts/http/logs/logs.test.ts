/** Logs over HTTP: pages, cursors, filters, and isolation between accounts. */
import Fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { createManualClock, createMemoryProvider } from "../../../../adapters/memory/index.ts";
import { createMemoryLogs } from "../../../../adapters/memory/logs/log-store.ts";
import { createWorld } from "../../../../adapters/memory/world.ts";
import { compileRe2 } from "../../../../adapters/shared/logs/re2.ts";
import { createControlPlane } from "../../../../core/control-plane.ts";
import type { AccountId, Principal } from "../../../../core/domain/accounts/account.ts";
import type { NewLogEntry } from "../../../../core/domain/logs/entry.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import type { LogStore } from "../../../../core/ports/log-store.ts";
import { clientOf } from "../../../../hosts/cli/client.ts";
import { LogReader } from "../../../../hosts/cli/logs/reader.ts";
import { portside } from "../../../../hosts/http/plugin.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { terminal } from "../../../support/cli/terminal.ts";
import { createEndlessSleepClock } from "../../../support/clocks/endless-sleep.ts";
import { serveApi, type TestApi } from "../../../support/http/api.ts";
import { problemsOf } from "../../../support/http/refusals.ts";

const entry = (owner: string, service: string, text: string): NewLogEntry => ({
  owner: owner as AccountId,
  service: service as DeploymentName,
  text,
  severity: text.startsWith("bad") ? "ERROR" : "INFO",
  logName: "stdout",
});

/** Two deployments of acme and one of another account, each with the same lines. */
const withLogs = async () => {
  const memory = createMemoryProvider();
  const api = await serveApi(memory.ports);
  const deploys = [
    ["app", "acme"],
    ["sibling", "acme"],
    ["theirs", "others"],
  ] as const;
  for (const [name, account] of deploys) {
    await api.deploy({ function_name: name, volumes: "{}" }, nodeSource(helloServer()), { account });
    const lines = ["good 1", "bad 2", "good 3", "bad 4", `secret of ${name}`];
    expect((await memory.provider.logs.append(lines.map((text) => entry(account, name, text)))).isOk()).toBe(true);
  }
  return { api, memory };
};

const read = async (api: TestApi, request: object, account = "acme") =>
  api.call("POST", "/v1/deployment/logs", { json: { deployment_name: "app", ...request }, account });

test("pages follow the cursor with a filter, each entry once", async () => {
  const { api } = await withLogs();
  await using _api = api;
  const met: string[] = [];
  let since = "2020-01-01T00:00:00Z";
  for (let more = true; more; ) {
    const { status, json, headers } = await read(api, { since, query: 'textPayload=~"^(good|bad) "', limit: 1 });
    expect(status).toBe(200);
    expect(Object.keys(json).sort()).toEqual(["cursor", "logs"]);
    expect(headers.get("x-logs-partial")).toBeNull();
    more = json.logs.length > 0;
    met.push(...json.logs.map(({ message }: { message: string }) => message));
    since = json.cursor;
  }
  expect(met).toEqual(["good 1", "bad 2", "good 3", "bad 4"]);
});

test("a partial page has the header X-Logs-Partial", async () => {
  const memory = createMemoryProvider({ clock: createManualClock() });
  const logs = createMemoryLogs(createWorld(), memory.ports.clock, compileRe2, 2);
  await using api = await serveApi({ ...memory.ports, provider: { ...memory.provider, logs } });
  await api.deploy({ function_name: "app", volumes: "{}" }, nodeSource(helloServer()));
  expect((await logs.append([1, 2, 3, 4].map((n) => entry("acme", "app", `line ${n}`)))).isOk()).toBe(true);
  const { headers, json } = await read(api, { query: "nothing at all" });
  expect(headers.get("x-logs-partial")).toBe("true");
  expect(json).toMatchObject({ logs: [], cursor: expect.any(String) });
});

test("a page of a store with a quota has the delay until the next read, which the command line uses", async () => {
  const memory = createMemoryProvider({ clock: createManualClock() });
  const { logs } = memory.provider;
  const newest: LogStore["newest"] = (...search) =>
    logs.newest(...search).map((found) => ({ ...found, pollAfterMs: 2301 }));
  await using api = await serveApi({ ...memory.ports, provider: { ...memory.provider, logs: { ...logs, newest } } });
  await api.deploy({ function_name: "app", volumes: "{}" }, nodeSource(helloServer()));
  const { headers, json } = await read(api, {});
  expect(headers.get("x-poll-after")).toBe("2.4");
  expect(Object.keys(json).sort()).toEqual(["cursor", "logs"]);
  const reader = new LogReader(clientOf({ url: api.url, apiKey: await api.key() }), terminal().io, "app", undefined);
  expect(await reader.page({})).toMatchObject({ pollAfterMs: 2400 });
  expect(await reader.page({ since: json.cursor })).not.toHaveProperty("pollAfterMs");
});

test("no filter returns entries of another deployment or account", async () => {
  const { api } = await withLogs();
  await using _api = api;
  const escapes = [
    "secret",
    'secret OR resource.labels.service_name="theirs"',
    'resource.labels.service_name="sibling"',
    'NOT resource.labels.service_name="app"',
    'resource.labels.service_name=~".*" secret',
    "timestamp>=2020-01-01T00:00:00Z OR secret",
    '-"nothing" secret',
    '"secret" -- ) OR (',
  ];
  for (const query of escapes) {
    const { status, text } = await read(api, { query, limit: 1000 });
    expect(status, query).toBe(200);
    expect(text).not.toContain("sibling");
    expect(text).not.toContain("theirs");
  }
  expect((await read(api, { deployment_name: "theirs", query: "secret" })).status).toBe(403);
});

test("descending pages follow the cursor to the oldest entry", async () => {
  const { api } = await withLogs();
  await using _api = api;
  const met: string[] = [];
  let until = {};
  for (let more = true; more; ) {
    const { json } = await read(api, { ...until, order: "desc", query: "logName=stdout", limit: 2 });
    more = json.logs.length > 0;
    met.push(...json.logs.map(({ message }: { message: string }) => message));
    until = { until: json.cursor };
  }
  expect(met).toEqual(["secret of app", "bad 4", "good 3", "bad 2", "good 1"]);
});

test("full returns whole entries", async () => {
  const { api } = await withLogs();
  await using _api = api;
  const { json } = await read(api, { full: true, limit: 1 });
  expect(json.logs[0]).toMatchObject({
    message: "secret of app",
    entry: { textPayload: "secret of app", resource: { labels: { service_name: "app" } } },
  });
});

test("`wait` holds the response until an entry arrives", async () => {
  const { api, memory } = await withLogs();
  await using _api = api;
  const { cursor } = (await read(api, {})).json;
  let hasAnswer = false;
  const held = read(api, { since: cursor, wait: 25, query: "late" }).then((answer) => {
    hasAnswer = true;
    return answer;
  });
  // A later request is answered first.
  await read(api, {});
  expect(hasAnswer).toBe(false);
  expect((await memory.provider.logs.append([entry("acme", "app", "late")])).isOk()).toBe(true);
  expect((await held).json.logs).toMatchObject([{ message: "late" }]);
});

test("a wait ends when the client disconnects, and when the server stops", async () => {
  const memory = createMemoryProvider();
  const clock = createEndlessSleepClock(memory.ports.clock);
  const api = await serveApi({ ...memory.ports, clock });
  expect((await memory.provider.logs.append([entry("acme", "app", "one")])).isOk()).toBe(true);
  const { cursor } = (await read(api, {})).json;
  const request = { deployment_name: "app", since: cursor, wait: 25 };
  const client = new AbortController();
  const gone = api.call("POST", "/v1/deployment/logs", { json: request, signal: client.signal }).catch(() => "gone");
  await expect.poll(() => clock.sleeping()).toBe(1);
  client.abort();
  expect(await gone).toBe("gone");
  await expect.poll(() => clock.sleeping()).toBe(0);
  const held = read(api, request);
  await expect.poll(() => clock.sleeping()).toBe(1);
  await api[Symbol.asyncDispose]();
  expect(await held).toMatchObject({ status: 200, json: { logs: [] } });
});

test("the histogram and the values count the entries of the account's deployment only", async () => {
  const { api } = await withLogs();
  await using _api = api;
  const request = { json: { deployment_name: "app", query: "logName=stdout" } };
  const histogram = await api.call("POST", "/v1/logs/histogram", request);
  expect(histogram.status).toBe(200);
  expect(Object.keys(histogram.json)).toEqual(["buckets", "partial", "complete_since"]);
  expect(histogram.json.buckets).toHaveLength(60);
  const counts = histogram.json.buckets.flatMap(({ counts }: { counts: object }) => Object.entries(counts));
  const sum = (severity: string) =>
    counts.reduce((all: number, [name, count]: [string, number]) => all + (name === severity ? count : 0), 0);
  expect([sum("INFO"), sum("ERROR")]).toEqual([3, 2]);
  const values = await api.call("POST", "/v1/logs/values", request);
  expect(values.json).toMatchObject({ examined: 5, partial: false });
  expect(values.json.fields).toContainEqual({
    name: "resource.labels.service_name",
    entries: 5,
    complete: true,
    values: [{ value: "app", entries: 5 }],
  });
});

test.each([
  ["a) OR (b", "at position 2: unexpected ')': no parenthesis is open"],
  ["(".repeat(20_000), "at position 65: parentheses are nested deeper than 64"],
  ["NOT ".repeat(5000).trim(), "at position 5: expected a term, found NOT"],
  ["a\u0000b", "at position 2: invisible character"],
  ["\u202e", "at position 1: invisible character"],
  ['textPayload=~"(a"', "at position 14: not a valid RE2 regular expression"],
  ["a".repeat(20_001), "at most 20000 characters"],
])("returns 422 with the problem of an invalid filter: %.20s", async (query, words) => {
  const { api } = await withLogs();
  await using _api = api;
  const answer = await read(api, { query });
  expect(problemsOf(answer).map((problem) => problem.split(":")[0])).toEqual(["body.query"]);
  expect(answer.json.detail[0].msg).toContain(words);
});

test("a request that waits fails with 401 after its key is revoked", async () => {
  const { api, memory } = await withLogs();
  await using _api = api;
  const { keys } = memory.ports.identity;
  const made = (await keys.create("acme" as AccountId, "waits"))._unsafeUnwrap();
  const request = { deployment_name: "app", since: "2100-01-01T00:00:00Z", wait: 25 };
  const held = api.call("POST", "/v1/deployment/logs", { json: request, key: made.key });
  const first = await Promise.race([held, new Promise((resolve) => setTimeout(resolve, 500, "waits"))]);
  expect(first).toBe("waits");
  (await keys.revoke("acme" as AccountId, made.id))._unsafeUnwrap();
  expect((await held).status).toBe(401);
});

test("a request that waits fails with 401 after the application ends its session", async () => {
  const memory = createMemoryProvider();
  const controlPlane = createControlPlane(memory.ports);
  let session: Principal | undefined = { account: "acme" as AccountId, credentialId: "session" };
  const app = Fastify();
  // biome-ignore lint/nursery/noMisusedPromises: a plugin may be asynchronous; the type says so through an overload
  await app.register(portside, { controlPlane, caller: () => session });
  onTestFinished(() => app.close());
  const entries = [entry("acme", "app", "good 1")];
  expect((await memory.provider.logs.append(entries)).isOk()).toBe(true);
  const held = app.inject({
    method: "POST",
    url: "/v1/deployment/logs",
    headers: { "sec-fetch-site": "same-origin" },
    payload: { deployment_name: "app", since: "2100-01-01T00:00:00Z", wait: 25 },
  });
  const first = await Promise.race([held, new Promise((resolve) => setTimeout(resolve, 500, "waits"))]);
  expect(first).toBe("waits");
  session = undefined;
  expect((await held).statusCode).toBe(401);
});
