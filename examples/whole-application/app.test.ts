/**
 * Tests the complete application over HTTP, with the provider in PORTSIDE_PROVIDER (local by default), and one use case
 * without HTTP.
 */

import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Platform } from "portside/composition";
import { create } from "tar";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApp, principalFor } from "./app.ts";
import { createPlatform } from "./platform.ts";
import { createClock, createLogger, type LogLine } from "./system.ts";

const provider = process.env["PORTSIDE_PROVIDER"] ?? "local";
const lines: LogLine[] = [];
const clock = createClock();
let dataDir: string;
let platform: Platform;
let server: Server;
let url: string;
let cookie: string;

interface LogRow {
  readonly message: string;
}

interface DeployRecord {
  readonly status: string;
  readonly message: string;
  readonly url?: string;
  readonly reason?: string;
}

const deploy = async (
  fields: Record<string, string>,
): Promise<{ status: number; records: DeployRecord[]; text: string }> => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  const archive = await create({ gzip: true, cwd: join(import.meta.dirname, "hello"), portable: true }, ["."]).concat();
  form.set("source_archive", new Blob([new Uint8Array(archive)]), "source.tar.gz");
  const response = await fetch(`${url}/platform/v1/deploy`, { method: "POST", headers: { cookie }, body: form });
  const text = await response.text();
  const records = response.ok
    ? text
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as DeployRecord)
    : [];
  return { status: response.status, records, text };
};
const post = async (path: string, body: object) => {
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { cookie, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as { logs: LogRow[] } };
};

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "whole-application-"));
  const logger = createLogger((line) => lines.push(line));
  platform = await createPlatform(
    { PATH: process.env["PATH"], PORTSIDE_PROVIDER: provider, PORTSIDE_DATA_DIR: dataDir, PORTSIDE_INGRESS_PORT: "0" },
    { clock, logger },
  );
  const app = await createApp({ controlPlane: platform.controlPlane, metrics: platform.metrics, logger });
  server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const login = await fetch(`${url}/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"user":"ann","password":"lighthouse"}',
  });
  expect(login.status).toBe(200);
  cookie = (login.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
}, 60_000);
afterAll(async () => {
  server?.close();
  await platform?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

test("rejects users without a login", async () => {
  expect((await fetch(`${url}/platform/v1/deployment/list`)).status).toBe(401);
});

test("deploys a service, calls it, reads its log and the metrics, and deletes it", async () => {
  const { status, records, text } = await deploy({
    function_name: "prod-hello",
    volumes: "{}",
    memory: "512Mi",
    max_instances: "20",
  });
  expect(status, text).toBe(200);
  const last = records.at(-1);
  expect(last?.status, text).toBe("DONE");
  expect(text).toContain("Instances lowered from 20 to 10");

  if (provider === "local") {
    expect(await (await fetch(last?.url ?? "")).text()).toMatch(/^ahoy from prod-hello-/);
    let logs: readonly LogRow[] = [];
    // A line appears in the log shortly after the service prints it.
    for (let tries = 0; tries < 100 && !logs.some(({ message }) => message.includes("ship")); tries += 1) {
      await sleep(200);
      logs = (await post("/platform/v1/deployment/logs", { deployment_name: "prod-hello" })).body.logs;
    }
    expect(logs.some(({ message }) => message.includes("ship sighted"))).toBe(true);
  }

  const figures = await (await fetch(`${url}/metrics`)).text();
  expect(figures).toMatch(/portside_deploys_total\{[^}]*status="DONE"[^}]*\} 1/);
  expect(figures).toMatch(/portside_api_request_seconds_count\{[^}]*route="[^"]*deploy"/);

  const list = (await (await fetch(`${url}/platform/v1/deployment/list`, { headers: { cookie } })).json()) as object[];
  expect(list[0]).toMatchObject({ name: "prod-hello", max_instances: 10 });
  expect((await post("/platform/v1/deployment/delete", { name: "prod-hello" })).status).toBe(200);
  expect(await (await fetch(`${url}/platform/v1/deployment/list`, { headers: { cookie } })).json()).toEqual([]);
});

test("returns a 422 that names the field for a veto", async () => {
  const { status, text } = await deploy({ function_name: "prod-small", volumes: "{}", memory: "256Mi" });
  expect(status).toBe(422);
  expect(text).toContain("must be at least 512Mi for prod- deployments");
});

test("calls a use case without HTTP; its error is a value", async () => {
  const principal = principalFor("ann", "in-process");
  const gone = await platform.controlPlane.deleteDeployment(principal, { name: "nothing-here" });
  expect(gone.isErr()).toBe(true);
  if (gone.isOk()) throw new Error("unreachable");
  const { error } = gone;
  switch (error.kind) {
    case "not_found":
      expect(error.message).toContain("nothing-here");
      break;
    case "invalid_input":
      throw new Error(error.issues.map(({ message }) => message).join());
    default:
      throw new Error(error.kind);
  }
});

test("uses the application's own clock and logger", () => {
  expect(clock.asked()).toBeGreaterThan(0);
  expect(lines.some(({ message }) => message === "logged in")).toBe(true);
});
