/**
 * A full disk: every error names the disk and the next step, nothing partial remains, and everything works once there
 * is space.
 */
import { randomBytes } from "node:crypto";
import { readdirSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { DeployEvent } from "../../../../core/domain/deploy/events.ts";
import { bytesOf, helloServer, nodeSource, sourceOf } from "../../../support/archives/archives.ts";
import { ballastOn, smallDisk } from "../../../support/crashes/small-disk.ts";
import { type ApiResponse, serveApi } from "../../../support/http/api.ts";
import { type LocalOptions, principalOf, runners, startLocalIn } from "../../../support/providers/local-platform.ts";
import { needs } from "../../../support/vitest/machine.ts";

const acme = principalOf("acme");

/** A platform with an API on a disk that can be filled. */
const startOnSmallDisk = async (size: string, options: LocalOptions = {}) => {
  const stack = new AsyncDisposableStack();
  const disk = stack.use(smallDisk(size));
  const dataDir = join(disk.path, "data");
  const platform = stack.use(await startLocalIn(dataDir, { runner: "process", ...options }));
  const api = stack.use(await serveApi(platform.local.ports));
  // The server reads the key before the disk is full.
  await api.call("GET", "/v1/deployment/list");
  const fill = async (room = 0) => {
    // Wait until the state has been copied, because replacing the earlier copy frees space.
    await expect.poll(() => statSync(join(dataDir, "state.sqlite-wal")).size).toBe(0);
    disk.fill(room);
  };
  return { disk, fill, platform, api, dataDir, [Symbol.asyncDispose]: () => stack.disposeAsync() };
};

/** The names of files that calls create in the data folder. */
const madeIn = (dataDir: string): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(
    ["spool", "storage/uploads", "storage/volumes", "storage/records", "leftovers"].map((name) => [
      name,
      readdirSync(join(dataDir, name)).sort(),
    ]),
  );

/** The processes with a working folder below the path. */
const processesIn = (path: string): string[] =>
  readdirSync("/proc").filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/cwd`).startsWith(path);
    } catch {
      return false;
    }
  });

const lastOf = ({ text }: ApiResponse): DeployEvent => JSON.parse(text.trimEnd().split("\n").at(-1) as string);

test("is ready only while there is space", async (context) => {
  needs(context, "root");
  await using small = await startOnSmallDisk("8m");
  const { controlPlane } = small.platform;
  expect((await controlPlane.check()).isOk()).toBe(true);
  small.disk.fill();
  const refused = (await controlPlane.check())._unsafeUnwrapErr();
  expect(refused).toMatchObject({ kind: "unavailable" });
  expect(refused.message).toMatch(/volumes cannot be written \(the disk is full\)/);
  small.disk.free();
  expect((await controlPlane.check()).isOk()).toBe(true);
});

test("returns a 503 that names the disk for changes of the state, and succeeds once there is space", async (context) => {
  needs(context, "root");
  await using small = await startOnSmallDisk("16m");
  const { api, disk, dataDir } = small;
  const post = (path: string, json: unknown) => api.call("POST", `/v1/${path}`, { json });
  await small.platform.up(nodeSource(helloServer("app")));
  for (const name of ["data", "unused"]) expect((await post("volume/create", { name })).status).toBe(200);
  await small.fill();
  const before = madeIn(dataDir);
  const calls: readonly [string, object][] = [
    ["volume/create", { name: "more" }],
    ["volume/delete", { name: "unused" }],
    ["key/create", { label: "more" }],
    ["deployment/delete", { name: "app" }],
  ];
  for (const [path, json] of calls) {
    disk.fill();
    const refused = await post(path, json);
    expect([path, refused.status, refused.headers.get("retry-after")]).toEqual([path, 503, "60"]);
    expect(refused.json.detail).toBe(
      "The server's disk is full: the call was not completed. Try again when the server's operator has freed space.",
    );
  }
  expect(madeIn(dataDir)).toEqual(before);
  const [app] = (await api.call("GET", "/v1/deployment/list")).json;
  expect(app).toMatchObject({ name: "app", status: "READY" });
  expect(await (await fetch(app.url)).text()).toBe("app");
  disk.free();
  for (const [path, json] of calls) expect([path, (await post(path, json)).status]).toEqual([path, 200]);
  expect((await api.call("GET", "/v1/volume/list")).json.map(({ name }: { name: string }) => name)).toEqual([
    "data",
    "more",
  ]);
});

test("returns 507 with the next step for an upload, and keeps the earlier object", async (context) => {
  needs(context, "root");
  await using small = await startOnSmallDisk("32m");
  const { api, disk, dataDir } = small;
  expect((await api.call("POST", "/v1/volume/create", { json: { name: "data" } })).status).toBe(200);
  const granted = await api.call("POST", "/v1/volume/upload", { json: { volume: "data", path: "file" } });
  const put = (bytes: Uint8Array<ArrayBuffer>) => fetch(granted.json.url, { method: "PUT", body: bytes });
  expect((await put(Buffer.from("before"))).status).toBe(201);
  // Larger than the free space, and larger than the data that a client sends before it reads the response.
  const large = Buffer.alloc(12 * 1024 * 1024, "x");
  await small.fill(2 * 1024 * 1024);
  const refused = await put(large);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([507, "60"]);
  expect(await refused.json()).toEqual({
    detail:
      "The server's disk is full: the call was not completed. Try again when the server's operator has freed space.",
  });
  expect(madeIn(dataDir)["storage/uploads"]).toEqual([]);
  const read = await api.call("POST", "/v1/volume/download", { json: { volume: "data", path: "file" } });
  expect(await (await fetch(read.json.url)).text()).toBe("before");
  disk.free();
  expect((await put(large)).status).toBe(200);
});

test("refuses a source that does not fit, with the reason, and loses nothing", async (context) => {
  needs(context, "root");
  await using small = await startOnSmallDisk("16m");
  const { platform, disk, dataDir } = small;
  const url = await platform.up(nodeSource(helloServer("before")));
  const large = nodeSource(helloServer("after"), { "large.bin": randomBytes(64 * 1024).toString("hex") });
  await small.fill();
  const refused = (await platform.controlPlane.receiveSource(acme, bytesOf(large)))._unsafeUnwrapErr();
  expect(refused).toMatchObject({ kind: "unavailable", message: expect.stringMatching(/disk is full/) });
  expect(readdirSync(join(dataDir, "spool"))).toEqual([]);
  expect(await (await fetch(url)).text()).toBe("before");
  // Space for the source, but not for unpacking it.
  disk.free();
  disk.fill(256 * 1024);
  const zeros = nodeSource(helloServer("after"), { "large.bin": "0".repeat(32 * 1024 * 1024) });
  const ended = (await platform.deploy(zeros)).at(-1);
  expect(ended).toMatchObject({ status: "ERROR", reason: "provider_unavailable" });
  expect(ended?.message).toMatch(/disk is full/);
  expect(await (await fetch(url)).text()).toBe("before");
  disk.free();
  expect(await platform.up(large)).toBe(url);
  expect(await (await fetch(url)).text()).toBe("after");
});

test("ends the deploy if a build command fills the disk, with the reason and its output", async (context) => {
  needs(context, "root");
  await using small = await startOnSmallDisk("16m");
  const { platform, disk, dataDir } = small;
  const scripts = { start: "node server.js", build: "echo writing; head -c 100M /dev/zero > large.bin" };
  const greedy = sourceOf({
    "package.json": JSON.stringify({ name: "test", private: true, type: "module", scripts }),
    "server.js": helloServer("greedy"),
  });
  const ended = (await platform.deploy(greedy)).at(-1);
  expect(ended).toMatchObject({ status: "ERROR", reason: "provider_unavailable", exit_code: 1 });
  expect(ended?.message).toMatch(/^The server's disk is full: .*exit code 1\. Deploy again when/);
  expect(ended?.log_tail?.join("\n")).toMatch(/writing\n(.*\n)*.*No space left on device/);
  await expect.poll(() => madeIn(dataDir)["leftovers"]).toEqual([]);
  disk.free();
  await platform.up(nodeSource(helloServer("modest")));
});

/** A service that waits until the state has been copied, then fills the disk, then listens. */
const fillingServer = (ballast: string, dataDir: string): string => `
import { closeSync, openSync, statSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
while (statSync(${JSON.stringify(join(dataDir, "state.sqlite-wal"))}).size > 0) await sleep(20);
const file = openSync(${JSON.stringify(ballast)}, "a");
for (let size = 1 << 20; size >= 1; size >>= 1)
  try {
    for (;;) if (writeSync(file, Buffer.alloc(size)) < size) break;
  } catch {}
closeSync(file);
createServer((request, response) => response.end("full")).listen(process.env.PORT);`;

test("ends a rollout if the state cannot be written, with the reason, and leaves no instance", async (context) => {
  needs(context, "root");
  // The quota permits one instance besides the serving one.
  await using small = await startOnSmallDisk("24m", { instancesPerAccount: 2 });
  const { platform, api, disk, dataDir } = small;
  const url = await platform.up(nodeSource(helloServer("before")));
  for (let n = 0; n < 2; n++) {
    const ended = await api.deploy(
      { function_name: "app", volumes: "{}" },
      nodeSource(fillingServer(ballastOn(disk.path), dataDir), { "number.txt": String(n) }),
    );
    expect(lastOf(ended)).toMatchObject({ status: "ERROR", reason: "provider_unavailable" });
    expect(lastOf(ended).message).toBe(
      "The server's disk is full: the revision gets no traffic. Deploy again when the server's operator has freed space.",
    );
    expect(await (await fetch(url)).text()).toBe("before");
    const [app] = (await api.call("GET", "/v1/deployment/list")).json;
    expect(app).toMatchObject({
      status: "READY",
      revision: "app-00001",
      last_deploy: { status: "ERROR", reason: "provider_unavailable" },
    });
    disk.free();
  }
  expect(await platform.up(nodeSource(helloServer("after")))).toBe(url);
  expect(await (await fetch(url)).text()).toBe("after");
});

test.for(runners)(
  "%s: a service that cannot start on a full disk leaves nothing, and starts once there is space",
  async (runner, context) => {
    needs(context, "root");
    await using small = await startOnSmallDisk("16m", { idle: "stop", idleSeconds: 1, runner });
    const { platform, disk, dataDir } = small;
    const url = await platform.up(nodeSource(helloServer("app")));
    // In a sandbox, the working folder has a different path.
    const running = () => (runner === "process" ? processesIn(join(dataDir, "images")) : []);
    const notes = () => readdirSync(join(dataDir, "run")).filter((name) => name.endsWith(".instance"));
    await expect.poll(running).toEqual([]);
    await expect.poll(notes).toEqual([]);
    for (let n = 0; n < 3; n++) {
      disk.fill();
      const refused = await fetch(url);
      expect([refused.status, (await refused.json()) as unknown]).toEqual([
        503,
        { detail: expect.stringContaining("provider_unavailable") },
      ]);
      expect(running()).toEqual([]);
    }
    expect(notes()).toEqual([]);
    disk.free();
    // The engine retries a failed start only after a pause.
    await expect.poll(async () => (await fetch(url)).text()).toBe("app");
  },
);
