/** `portside logs`: what matches, since when, and what comes, without a gap or a repeat over a restart of the server. */
import { once } from "node:events";
import { expect, test } from "vitest";
import { createMemoryProvider } from "../../../adapters/memory/index.ts";
import type { AccountId } from "../../../core/domain/account.ts";
import type { NewLogEntry } from "../../../core/domain/log-entry.ts";
import type { DeploymentName } from "../../../core/domain/names.ts";
import { readSince } from "../../../hosts/cli/commands/logs.ts";
import { serveApi } from "../../support/api.ts";
import { helloServer, nodeSource, tarGz } from "../../support/archives.ts";
import { folderWith } from "../../support/folders.ts";
import { Client, serve } from "../../support/served.ts";
import { portside } from "../../support/terminal.ts";

const line = (text: string, severity: NewLogEntry["severity"] = "INFO"): NewLogEntry => ({
  ...{ owner: "acme" as AccountId, service: "app" as DeploymentName, logName: "stdout", severity, text },
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

test("shows what matches a filter", async () => {
  const { api, logs } = await withLines(many(300));
  await using _ = api;
  expect((await logs("-q", "severity>=ERROR")).lines).toEqual(["line 0", "line 100", "line 200"]);
  const wrong = await logs("-q", "a) OR (b");
  expect(wrong.code).toBe(1);
  expect(wrong.stderr).toContain("query: at position 2: no parenthesis is open here");
});

test("shows everything since a time, over as many pages as it takes; with -n the newest of it", async () => {
  const { api, logs } = await withLines(many(2500));
  await using _ = api;
  expect((await logs("-s", "1h")).lines).toEqual(Array.from({ length: 2500 }, (_, n) => `line ${n}`));
  expect((await logs("-s", "1h", "-n", "2")).lines).toEqual(["line 2498", "line 2499"]);
  expect((await logs("-s", "2099-01-01T00:00:00Z")).lines).toEqual([]);
  expect(await logs("-s", "yesterday")).toMatchObject({ code: 2, stdout: "" });
});

test.each([
  ["30s", "2026-01-01T23:59:30.000Z"],
  ["30m", "2026-01-01T23:30:00.000Z"],
  ["24h", "2026-01-01T00:00:00.000Z"],
  ["7d", "2025-12-26T00:00:00.000Z"],
  ["2026-01-01T09:00:00+01:00", "2026-01-01T09:00:00+01:00"],
])("-s %s is %s", (text, since) => expect(readSince(text, Date.UTC(2026, 0, 2))).toBe(since));

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
  expect(await ran).toMatchObject({ code: 0, stderr: "" });
  expect([...shown.matchAll(/line \d/g)].map(String)).toEqual(["line 1", "line 2", "line 3", "line 4"]);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
  expect(shown).toMatch(/ERROR {4}\u001b\[31mline 3/);
});

/** Says a number whenever it is asked. */
const counting = `
let count = 0;
require("node:http").createServer((req, res) => {
  console.log(JSON.stringify({ message: "tick", boot: process.env.BOOT, count: count++ }));
  res.end("ok");
}).listen(process.env.PORT);
`;

test("a follower outlives a restart of the server, and has every entry once", async () => {
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
  await expect.poll(ticks, { timeout: 20_000 }).toBe(20);
  const ended = once(server.child, "exit");
  server.child.kill("SIGTERM");
  await ended;
  server = await serve(folder.path, { ...options, port });
  for (let n = 0; n < 20; n++) await (await fetch(url)).text();
  await expect.poll(ticks, { timeout: 20_000 }).toBe(40);
  stop.abort();
  const { code, stderr } = await following;
  expect(code).toBe(0);
  expect(stderr).toContain("waiting for it");
  const counts = shown
    .trim()
    .split("\n")
    .map((text) => JSON.parse(JSON.parse(text).message).count);
  expect(counts).toEqual([...Array(20).keys(), ...Array(20).keys()]);
  server.child.kill("SIGTERM");
  await once(server.child, "exit");
});
