/** `portside logs`: filters, start times, and following without gaps or duplicates across a restart of the server. */
import { once } from "node:events";
import { expect, test } from "vitest";
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { NewLogEntry } from "../../../../core/domain/logs/entry.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { helloServer, nodeSource, tarGz } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { serveApi } from "../../../support/http/api.ts";
import { Client, end, serve } from "../../../support/http/served.ts";

const line = (text: string, severity: NewLogEntry["severity"] = "INFO"): NewLogEntry => ({
  owner: "acme" as AccountId,
  service: "app" as DeploymentName,
  logName: "stdout",
  severity,
  text,
});

const withLines = async (lines: readonly NewLogEntry[]) => {
  const memory = createMemoryProvider();
  const api = await serveApi(memory.ports);
  await api.deploy({ function_name: "app", volumes: "{}" }, nodeSource(helloServer()));
  expect((await memory.provider.logs.append(lines)).isOk()).toBe(true);
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key() };
  const logs = async (...args: string[]) => {
    const ran = await portside(["logs", "app", ...args], { env });
    return { ...ran, lines: ran.stdout.split("\n").flatMap((text) => /line \d+/.exec(text)?.[0] ?? []) };
  };
  return { api, memory, env, logs };
};

const many = (count: number) =>
  Array.from({ length: count }, (_, n) => line(`line ${n}`, n % 100 === 0 ? "ERROR" : "INFO"));

test("shows the entries that match a filter", async () => {
  const { api, logs } = await withLines(many(300));
  await using _ = api;
  expect((await logs("-q", "severity>=ERROR")).lines).toEqual(["line 0", "line 100", "line 200"]);
  const wrong = await logs("-q", "a) OR (b");
  expect(wrong.code).toBe(1);
  expect(wrong.stderr).toContain("query: at position 2: unexpected ')': no parenthesis is open");
});

test("shows all entries since a time over several pages, or the newest of them with -n", async () => {
  const { api, logs } = await withLines(many(2500));
  await using _ = api;
  expect((await logs("-s", "1h")).lines).toEqual(Array.from({ length: 2500 }, (_, n) => `line ${n}`));
  expect((await logs("-s", "1h", "-n", "2")).lines).toEqual(["line 2498", "line 2499"]);
  expect((await logs("-s", "2099-01-01T00:00:00Z")).lines).toEqual([]);
  expect(await logs("-s", "yesterday")).toMatchObject({ code: 2, stdout: "" });
});

test("shows more of the newest entries than fit on a page, and none with -n 0", async () => {
  const { api, logs } = await withLines(many(2500));
  await using _ = api;
  const newest = (count: number) => Array.from({ length: count }, (_, n) => `line ${2500 - count + n}`);
  expect((await logs("-n", "2100")).lines).toEqual(newest(2100));
  expect((await logs("-n", "1000")).lines).toEqual(newest(1000));
  expect((await logs("-n", "9999", "-q", "severity=ERROR OR line")).lines).toEqual(newest(2500));
  // With a lower time bound in the filter, the output begins at that time.
  const first = Array.from({ length: 2100 }, (_, n) => `line ${n}`);
  expect((await logs("-n", "2100", "-q", 'timestamp>="2020-01-01" textPayload:line')).lines).toEqual(first);
  expect(await logs("-n", "0")).toMatchObject({ code: 0, stdout: "" });
  expect(await logs("-n", "0", "-s", "1h")).toMatchObject({ code: 0, stdout: "" });
});

test("--until ends the output at a time, and -r shows the newest entries first", async () => {
  const { api, logs } = await withLines(many(2500));
  await using _ = api;
  const all = Array.from({ length: 2500 }, (_, n) => `line ${n}`);
  expect((await logs("-r", "-n", "3")).lines).toEqual(["line 2499", "line 2498", "line 2497"]);
  expect((await logs("-r", "-s", "1h")).lines).toEqual(all.toReversed());
  expect((await logs("-r", "-n", "2100")).lines).toEqual(all.toReversed().slice(0, 2100));
  expect((await logs("-r", "-s", "2099-01-01T00:00:00Z")).lines).toEqual([]);
  const { stdout } = await logs("--json", "-r", "-n", "1", "-q", 'textPayload="line 2000"');
  const { timestamp } = JSON.parse(stdout);
  const upTo = (await logs("-s", "1h", "--until", timestamp)).lines;
  expect(upTo.slice(0, 2001)).toEqual(all.slice(0, 2001));
  expect((await logs("--until", timestamp, "-n", "1")).lines).toEqual(upTo.slice(-1));
  expect((await logs("--until", "1h")).lines).toEqual([]);
});

test.each([
  [["-f", "-r"], "cannot be combined with -r"],
  [["-f", "--until", "1h"], "cannot be combined with --until"],
  [["--until", "tomorrow"], "--until must be an age"],
])("%j is a usage error", async (args, words) => {
  const { code, stderr } = await portside(["logs", "app", ...args], { env: { PORTSIDE_API_KEY: "psk_x" } });
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(words) });
});

test("--full shows all fields of each entry", async () => {
  const { api, logs } = await withLines([{ ...line("line 1"), revision: "app-00001" }]);
  await using _ = api;
  const { stdout } = await logs("--full", "-q", "textPayload:line");
  const [head, ...fields] = stdout.trimEnd().split("\n");
  expect(head).toMatch(/INFO +stdout +line 1$/);
  expect(JSON.parse(fields.join(""))).toMatchObject({
    textPayload: "line 1",
    logName: "stdout",
    resource: { labels: { service_name: "app", revision_name: "app-00001" } },
  });
  const json = await logs("--full", "--json", "-q", "textPayload:line");
  expect(JSON.parse(json.stdout)).toMatchObject({ message: "line 1", entry: { textPayload: "line 1" } });
});

test("with -s, prints each page before it reads the next", async () => {
  const { api, env } = await withLines(many(2500));
  await using _ = api;
  const stop = new AbortController();
  let shown = "";
  const onOutput = (text: string) => {
    shown += text;
    if (text.includes("line 500")) stop.abort();
  };
  const { code, stderr } = await portside(["logs", "app", "-s", "1h"], { env, signal: stop.signal, onOutput });
  expect({ code, stderr }).toEqual({ code: 130, stderr: "" });
  expect(shown).toContain("line 997");
  expect(shown).not.toContain("line 1000");
});

test("escapes control characters in JSON without changing the message", async () => {
  const text = "line 1 \u001b[31m\u007f\u009b2J\u202e";
  const { api, logs } = await withLines([line(text)]);
  await using _ = api;
  const { stdout } = await logs("--json", "-q", "textPayload:line");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject
  expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  expect(JSON.parse(stdout)).toMatchObject({ message: text, log_name: "stdout", severity: "INFO" });
});

test("accepts a filter that begins with a minus", async () => {
  const { api, logs } = await withLines([line("line 1"), line("line 2", "ERROR")]);
  await using _ = api;
  expect((await logs("-q", "-severity=ERROR")).lines).toEqual(["line 1"]);
  expect((await logs("--query", "-severity=INFO")).lines).toEqual(["line 2"]);
});

test("marks the error in a rejected filter", async () => {
  const { api, logs } = await withLines([line("line 1")]);
  await using _ = api;
  const { code, stderr } = await logs("-q", "a) OR (b");
  expect(code).toBe(1);
  expect(stderr.split("\n").slice(-3)).toEqual(["  a) OR (b", "   ^", ""]);
});

test("waits for the rate limit's Retry-After, and prints the platform's message", async () => {
  const memory = createMemoryProvider();
  // After the first 60 requests, one more per second.
  await using api = await serveApi(memory.ports, { accountLimits: { requestsPerMinute: 60 } });
  await api.deploy({ function_name: "app", volumes: "{}" }, nodeSource(helloServer()));
  for (let time = 1; time < 60; time++) await api.call("GET", "/v1/capabilities");
  const env = { PORTSIDE_URL: api.url, PORTSIDE_API_KEY: await api.key() };
  const runs = await Promise.all([1, 2].map(() => portside(["logs", "app"], { env })));
  expect(runs.map(({ code }) => code)).toEqual([0, 0]);
  expect(runs.map(({ stderr }) => stderr).join("")).toMatch(
    /limit of 60 requests per minute\. Try again in \d s\. Waiting \d s…/,
  );
});

test("prints one message when the deployment is deleted, and follows the next deployment of that name", async () => {
  const { api, env } = await withLines([line("line 1")]);
  await using _ = api;
  const stop = new AbortController();
  let deleted = false;
  const ran = portside(["logs", "app", "-f"], {
    env,
    signal: stop.signal,
    onOutput: (text) => {
      if (text.includes("line 1")) void api.call("POST", "/v1/deployment/delete", { json: { name: "app" } });
      if (deleted) stop.abort();
      if (!text.includes("was deleted")) return;
      deleted = true;
      void api.deploy({ function_name: "app", volumes: "{}" }, nodeSource(helloServer()));
    },
  });
  const { code, stderr } = await ran;
  expect(code).toBe(130);
  expect(stderr).toBe("The deployment 'app' does not exist. Waiting for a deployment of that name…\n");
});

test("follows with -f, colours by severity on a terminal, and ends with Ctrl-C", async () => {
  const { api, env, memory } = await withLines(many(3));
  await using _ = api;
  const stop = new AbortController();
  let shown = "";
  const ran = portside(["logs", "app", "-f", "-n", "2"], {
    env,
    columns: 80,
    signal: stop.signal,
    onOutput: (text) => {
      shown += text;
      if (text.includes("line 2")) void memory.provider.logs.append([line("line 3", "ERROR"), line("line 4")]);
      if (text.includes("line 4")) stop.abort();
    },
  });
  expect(await ran).toMatchObject({ code: 130, stderr: "" });
  expect([...shown.matchAll(/line \d/g)].map(String)).toEqual(["line 1", "line 2", "line 3", "line 4"]);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
  expect(shown).toMatch(/ERROR {5}\u001b\[2mstdout {2}\u001b\[22m \u001b\[31mline 3/);
});

/** Logs the next number at each request. */
const counting = `
let count = 0;
require("node:http").createServer((req, res) => {
  console.log(JSON.stringify({ message: "tick", boot: process.env.BOOT, count: count++ }));
  res.end("ok");
}).listen(process.env.PORT);
`;

test("follows across a restart of the server, and prints every entry once", async () => {
  using folder = folderWith();
  const options = { runner: "process" };
  let server = await serve(folder.path, options);
  const key = server.apiKey ?? "";
  const archive = tarGz([
    { path: "package.json", content: "{}" },
    { path: "server.js", content: counting },
  ]);
  const records = await Array.fromAsync(new Client(server.url, key).deploy("app", archive));
  const { url } = records.at(-1) as { url: string };
  const port = new URL(server.url).port;
  const stop = new AbortController();
  let shown = "";
  const following = portside(["logs", "app", "-f", "--json", "-q", 'jsonPayload.message="tick"'], {
    env: { PORTSIDE_URL: server.url, PORTSIDE_API_KEY: key },
    signal: stop.signal,
    onOutput: (text) => {
      shown += text;
    },
  });
  const ticks = () => shown.split("\n").filter((text) => text.includes("tick")).length;
  for (let n = 0; n < 20; n++) await (await fetch(url)).text();
  await expect.poll(ticks).toBe(20);
  await end(server);
  server = await serve(folder.path, { ...options, port });
  for (let n = 0; n < 20; n++) await (await fetch(url)).text();
  await expect.poll(ticks).toBe(40);
  stop.abort();
  const { code, stderr } = await following;
  expect(code).toBe(130);
  expect(stderr).toContain("The platform is unavailable. Retrying…");
  const counts = shown
    .trim()
    .split("\n")
    .map((text) => JSON.parse(JSON.parse(text).message).count);
  expect(counts).toEqual([...Array(20).keys(), ...Array(20).keys()]);
  server.child.kill("SIGTERM");
  await once(server.child, "exit");
});
