/** Podman behind the same API: deploy, call, log, delete. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sourceOf } from "../support/archives/archives.ts";
import { folderWith } from "../support/archives/folders.ts";
import { eventsOf } from "../support/logs/log-entries.ts";
import { busyWorkerCode } from "../support/providers/busy-worker.ts";
import { principalOf, startLocal } from "../support/providers/local-platform.ts";
import { eventually } from "../support/vitest/eventually.ts";
import { has, needs } from "../support/vitest/machine.ts";

const folder = folderWith();
const socket = join(folder.path, "podman.sock");
const environment = { ...process.env, DOCKER_HOST: `unix://${socket}` };
const works = has("base images") && has("podman");

let service: ChildProcess | undefined;
beforeAll(async () => {
  if (!works) return;
  const image = spawnSync("docker", ["save", "node:24-bookworm-slim"], { maxBuffer: 2 ** 30 }).stdout;
  spawnSync("podman", ["load"], { input: image });
  // Docker saves names without a registry, and Podman resolves those on this machine.
  spawnSync("podman", ["tag", "localhost/node:24-bookworm-slim", "docker.io/library/node:24-bookworm-slim"]);
  // Podman's default limits exceed the permissions of a root user without all capabilities.
  writeFileSync(
    join(folder.path, "containers.conf"),
    '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n',
  );
  service = spawn("podman", ["system", "service", "--time", "0", `unix://${socket}`], {
    stdio: "ignore",
    env: { ...process.env, CONTAINERS_CONF: join(folder.path, "containers.conf") },
  });
  await eventually(() => expect(existsSync(socket)).toBe(true));
});
afterAll(async () => {
  if (service !== undefined && service.exitCode === null) {
    service.kill("SIGTERM");
    await once(service, "exit");
  }
  folder[Symbol.dispose]();
});

test("builds, calls, logs and removes a Dockerfile", async (context) => {
  needs(context, "base images", "podman");
  const Dockerfile = 'FROM docker.io/library/node:24-bookworm-slim\nCOPY server.js /\nCMD ["node", "/server.js"]\n';
  const server = `require("node:http").createServer((q, r) => { console.log("called"); r.end("hi"); }).listen(process.env.PORT)`;
  await using platform = await startLocal({ runner: "process" }, {}, { environment });
  expect(platform.local.provider.capabilities.builders.dockerfile).toMatchObject({ supported: true });
  const url = await platform.up(sourceOf({ Dockerfile, "server.js": server }));
  expect(await (await fetch(url)).text()).toBe("hi");
  await eventually(async () => {
    const page = await platform.controlPlane.readLogs(principalOf("acme"), { deployment_name: "app", limit: 100 });
    expect(page._unsafeUnwrap().logs.map(({ message }) => message)).toContain("called");
  });
  (await platform.controlPlane.deleteDeployment(principalOf("acme"), { name: "app" }))._unsafeUnwrap();
  await eventually(async () => await expect(fetch(url)).rejects.toThrow());
});

test("rejects a base image whose trigger downloads from the machine's loopback", async (context) => {
  needs(context, "base images", "podman");
  let asked = 0;
  const listener = createServer((_request, response) => {
    asked++;
    response.end("loopback-4711");
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  const lines = `FROM docker.io/library/node:24-bookworm-slim\nONBUILD ADD http://127.0.0.1:${port}/x /x\n`;
  // Podman's own format has no triggers.
  spawnSync("podman", ["build", "--format", "docker", "--tag", "portside.test/triggers", "-"], { input: lines });
  try {
    await using platform = await startLocal({ runner: "process" }, {}, { environment });
    const [last] = (await platform.deploy(sourceOf({ Dockerfile: "FROM portside.test/triggers\n" }))).slice(-1);
    expect(last).toMatchObject({ status: "ERROR", reason: "build_failed" });
    expect(last?.message).toContain("ONBUILD ADD");
    expect(asked).toBe(0);
  } finally {
    listener.close();
    spawnSync("podman", ["rmi", "--force", "portside.test/triggers"]);
  }
});

test("freezes an idle container, and thaws it for each next request", async (context) => {
  needs(context, "base images", "podman");
  const Dockerfile = 'FROM docker.io/library/node:24-bookworm-slim\nCOPY server.js /\nCMD ["node", "/server.js"]\n';
  const server = `require("node:http").createServer((q, r) => r.end("hi")).listen(process.env.PORT)`;
  const config = { runner: "process", idleSeconds: 0.3, graceSeconds: 1 } as const;
  await using platform = await startLocal(config, {}, { environment });
  const url = await platform.up(sourceOf({ Dockerfile, "server.js": server }));
  for (const count of [1, 2]) {
    await eventually(async () => expect(await eventsOf(platform, "frozen")).toHaveLength(count));
    expect(await (await fetch(url)).text()).toBe("hi");
    expect(await eventsOf(platform, "thawed")).toHaveLength(count);
  }
  expect(await eventsOf(platform, "started")).toEqual([]);
  expect(await eventsOf(platform, "crashed")).toEqual([]);
  await eventually(async () => expect(await eventsOf(platform, "frozen")).toHaveLength(3));
});

test("a container takes a busy lease as any user", async (context) => {
  needs(context, "base images", "podman");
  const Dockerfile =
    'FROM docker.io/library/node:24-bookworm-slim\nCOPY server.mjs /\nUSER 1234:1234\nCMD ["node", "/server.mjs"]\n';
  await using platform = await startLocal({ runner: "process", graceSeconds: 1 }, {}, { environment });
  const url = await platform.up(sourceOf({ Dockerfile, "server.mjs": busyWorkerCode }));
  expect(await (await fetch(`${url}/lease?ms=300000`)).text()).toMatch(/^200 \{"until":"/);
});
