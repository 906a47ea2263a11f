/** `portside serve` in two processes: the engine starts the server again, and the server ends with the engine. */
import { once } from "node:events";
import { Agent, request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { serverOf } from "../../../support/http/serve-child.ts";
import { Client, type Served, serve } from "../../../support/http/served.ts";
import { isAlive } from "../../../support/vitest/eventually.ts";

/** Stops at the end of its scope, before the folder is deleted. */
const start = async (
  dataDir: string,
  options: Readonly<Record<string, string>> = {},
): Promise<Served & AsyncDisposable> => {
  const served = await serve(dataDir, { runner: "process", ...options });
  return { ...served, [Symbol.asyncDispose]: () => end(served) };
};

const end = async ({ child }: Served): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
};

const statusOf = async (url: string): Promise<number | undefined> => (await fetch(url).catch(() => undefined))?.status;

const statusOverHttp2 = async (url: string): Promise<string> => {
  const session = connectHttp2(url);
  try {
    const [headers] = await once(session.request({ ":path": "/health" }).resume(), "response");
    return String(headers[":status"]);
  } finally {
    session.close();
  }
};

test("while there is no server, the API responds 503 with Retry-After, over HTTP/1.1 and HTTP/2", async () => {
  using folder = folderWith();
  await using served = await start(folder.path);
  const { url, child } = served;
  const server = serverOf(child.pid as number) as number;
  process.kill(server, "SIGKILL");
  await expect.poll(() => isAlive(server)).toBe(false);
  const response = await fetch(`${url}/health`);
  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toBe("2");
  expect(await response.json()).toEqual({ detail: "The server is restarting. Retry after 2 seconds." });
  expect(["503", "200"]).toContain(await statusOverHttp2(url));
  await expect.poll(() => statusOf(`${url}/health`)).toBe(200);
});

test("the server ends with its engine, and the next start serves the deployed service", async () => {
  using folder = folderWith();
  await using first = await start(folder.path);
  const records = await Array.fromAsync(
    new Client(first.url, first.apiKey ?? "").deploy("app", nodeSource(helloServer("app"))),
  );
  expect(records.at(-1)?.status).toBe("DONE");
  const server = serverOf(first.child.pid as number) as number;
  first.child.kill("SIGKILL");
  await expect.poll(() => isAlive(server)).toBe(false);
  await using second = await start(folder.path);
  const [deployment] = await new Client(second.url, first.apiKey ?? "").list();
  expect(await (await fetch(deployment?.url ?? "")).text()).toBe("app");
  const ended = once(second.child, "exit");
  second.child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
});

test("a server that cannot start again leaves the services running, and SIGTERM still ends the engine", async () => {
  using folder = folderWith();
  await using served = await start(folder.path);
  const { url, apiKey, child, errors } = served;
  const client = new Client(url, apiKey ?? "");
  const records = await Array.fromAsync(client.deploy("app", nodeSource(helloServer("app"))));
  const service = records.at(-1)?.url as string;
  const server = serverOf(child.pid as number) as number;
  process.kill(server, "SIGKILL");
  await expect.poll(() => isAlive(server)).toBe(false);
  // A newer Portside has changed the format.
  using db = new DatabaseSync(join(folder.path, "state.sqlite"));
  db.exec("PRAGMA user_version = 1000");
  await expect.poll(() => errors.join("\n")).toContain("the server could not restart");
  expect(await (await fetch(service)).text()).toBe("app");
  expect(await statusOf(`${url}/health`)).toBe(503);
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
});

test("a first start that fails prints the reason", async () => {
  using folder = folderWith();
  const options = { "stripe-key": "sk_test", "keys-database": "postgres://127.0.0.1:1/none" };
  await expect(serve(folder.path, { runner: "process", ...options })).rejects.toThrow(/keys database|PostgreSQL/i);
});

test("a client that half-closes after its request gets the response; a shutdown closes idle connections", async () => {
  using folder = folderWith();
  await using served = await start(folder.path);
  const { url, child } = served;
  const port = Number(new URL(url).port);
  const half = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  half.end("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
  const [text] = (await once(half.setEncoding("utf8"), "data")) as [string];
  expect(text).toMatch(/^HTTP\/1.1 200/);
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  const [response] = await once(request({ port, path: "/health", agent }).end(), "response");
  response.resume();
  await once(response, "end");
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
});

test("the metrics contain those of the engine and of the server", async () => {
  using folder = folderWith();
  await using served = await start(folder.path, { "metrics-port": "0" });
  const { url, apiKey, metrics } = served;
  const records = await Array.fromAsync(new Client(url, apiKey ?? "").deploy("app", nodeSource(helloServer("app"))));
  await fetch(records.at(-1)?.url as string);
  const text = await (await fetch(metrics as string)).text();
  expect(text).toMatch(/^portside_deploys_total\{[^}]*\} 1$/m);
  expect(text).toMatch(/^portside_service_request_seconds_count\{status="2xx"\} 1$/m);
  expect(text).toMatch(/^portside_instances\{state="idle"\} 1$/m);
  expect(text).toMatch(/^portside_log_entries_stored_total [1-9]/m);
});
