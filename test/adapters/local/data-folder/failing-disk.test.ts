/**
 * A disk that becomes read-only or fails to flush while the server runs: refusals report it, and no acknowledged change
 * is lost.
 */
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Deployment } from "../../../../core/domain/deploy/deployment.ts";
import { nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { abortingDisk } from "../../../support/crashes/aborting-disk.ts";
import { randomFrom } from "../../../support/crashes/crash.ts";
import { failingFlush } from "../../../support/crashes/failing-flush.ts";
import { Client, type Served, serve } from "../../../support/http/served.ts";
import { needs } from "../../../support/vitest/machine.ts";

const options = { runner: "process", "grace-seconds": "1", "drain-seconds": "1" };

const pidServer = `
import { createServer } from "node:http";
createServer((request, response) => response.end(String(process.pid))).listen(process.env.PORT);`;

/** Ends the server and its services. */
const ending = (served: Served): AsyncDisposable => ({
  [Symbol.asyncDispose]: async () => {
    const { child } = served;
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    }
  },
});

const up = async (client: Client, name: string): Promise<void> => {
  for await (const record of client.deploy(name, nodeSource(pidServer)))
    if (record.status === "ERROR") throw new Error(record.message);
};

const put = (url: string, body: string): Promise<Response> => fetch(url, { method: "PUT", body });

const refusal = (fact: string, remedy: string): RegExp =>
  new RegExp(`returned 503: .*The server's disk ${fact}: the call was not completed\\. Try again when .* ${remedy}\\.`);

/** `/ready`, which checks at most every ten seconds. */
const readyOf = async (url: string): Promise<{ status: number; text: string }> => {
  const answer = await fetch(`${url}/ready`);
  return { status: answer.status, text: await answer.text() };
};

test("reports a file system that becomes read-only, stays up, and loses no acknowledged change", async (context) => {
  needs(context, "loop devices");
  using disk = abortingDisk(64);
  const served = await serve(join(disk.path, "data"), options);
  await using _ = ending(served);
  const client = new Client(served.url, served.apiKey as string);
  await client.post("/v1/volume/create", { name: "data" });
  const { url } = await client.post<{ url: string }>("/v1/volume/upload", { volume: "data", path: "file" });
  expect((await put(url, "acknowledged")).status).toBe(201);
  await up(client, "app");
  const [app] = (await client.list()) as [Deployment];
  const pid = Number(await (await fetch(app.url)).text());

  disk.abort();
  const words = refusal("(is read-only|cannot be read or written)", "(has made it writable|has repaired it)");
  const calls: readonly [string, object][] = [
    ["volume/create", { name: "more" }],
    ["volume/delete", { name: "data" }],
    ["key/create", { label: "more" }],
    ["deployment/delete", { name: "app" }],
  ];
  for (const [path, json] of calls) await expect(client.post(`/v1/${path}`, json)).rejects.toThrow(words);
  await expect(up(client, "other")).rejects.toThrow(words);
  const refused = await put(url, "refused");
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "60"]);
  expect(await refused.text()).toContain("disk is read-only");
  const ready = await readyOf(served.url);
  expect(ready.status).toBe(503);
  for (const part of ["the state", "volumes", "logs"])
    expect(ready.text).toContain(`${part} cannot be written (it is read-only)`);

  // Running instances keep serving. Instances that end cannot be started again.
  expect(Number(await (await fetch(app.url)).text())).toBe(pid);
  process.kill(pid, "SIGKILL");
  await expect.poll(async () => (await fetch(app.url)).status).toBe(503);
  expect((await fetch(`${served.url}/health`)).status).toBe(200);
  expect(served.child.exitCode).toBeNull();
  const ended = once(served.child, "exit");
  served.child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
  expect(served.errors.join("\n")).not.toMatch(/^\s+at /m);

  // Every acknowledged change is intact after the file system works again.
  const later = await serve(join(disk.remounted(), "data"), options);
  await using __ = ending(later);
  const again = new Client(later.url, served.apiKey as string);
  expect(await again.list()).toMatchObject([{ name: "app", status: "READY" }]);
  expect(await again.get("/v1/volume/list")).toMatchObject([{ name: "data" }]);
  const { url: read } = await again.post<{ url: string }>("/v1/volume/download", { volume: "data", path: "file" });
  expect(await (await fetch(read)).text()).toBe("acknowledged");
});

test("reports failed flushes, loses no acknowledged change, and recovers", async (context) => {
  needs(context, "cc");
  using folder = folderWith();
  const dataDir = join(folder.path, "data");
  const flush = failingFlush(folder.path, dataDir);
  const served = await serve(dataDir, options, () => {}, [], flush.env);
  await using _ = ending(served);
  const client = new Client(served.url, served.apiKey as string);
  await client.post("/v1/volume/create", { name: "data" });
  const { url } = await client.post<{ url: string }>("/v1/volume/upload", { volume: "data", path: "file" });
  flush.fail();
  const words = refusal("cannot be read or written", "has repaired it");
  await expect(client.post("/v1/volume/create", { name: "more" })).rejects.toThrow(words);
  await expect(client.post("/v1/key/create", { label: "more" })).rejects.toThrow(words);
  expect((await put(url, "refused")).status).toBe(503);
  await expect(up(client, "app")).rejects.toThrow("The server's disk cannot be read or written");
  const ready = await readyOf(served.url);
  expect(ready.status).toBe(503);
  for (const part of ["the state", "volumes", "logs"]) expect(ready.text).toContain(`${part} cannot be written`);

  const random = randomFrom(17);
  const acknowledged = new Set(["data"]);
  const tried = new Set(acknowledged);
  for (let n = 0; n < 60; n++) {
    if (random() < 0.5) flush.fail();
    else flush.heal();
    const name = `volume-${n}`;
    tried.add(name);
    const made = await client.post("/v1/volume/create", { name }).catch(() => undefined);
    if (made !== undefined) acknowledged.add(name);
  }
  expect(acknowledged.size).toBeGreaterThan(10);
  expect(acknowledged.size).toBeLessThan(tried.size);
  flush.heal();
  await up(client, "app");
  expect((await put(url, "acknowledged")).ok).toBe(true);
  const ended = once(served.child, "exit");
  served.child.kill("SIGKILL");
  await ended;

  const later = await serve(dataDir, options);
  await using __ = ending(later);
  const again = new Client(later.url, served.apiKey as string);
  const listed = (await again.get<{ name: string }[]>("/v1/volume/list")).map(({ name }) => name);
  expect(listed.filter((name) => !tried.has(name))).toEqual([]);
  expect([...acknowledged].filter((name) => !listed.includes(name))).toEqual([]);
  expect(await again.list()).toMatchObject([{ name: "app", status: "READY" }]);
  const { url: read } = await again.post<{ url: string }>("/v1/volume/download", { volume: "data", path: "file" });
  expect(await (await fetch(read)).text()).toBe("acknowledged");
  expect((await readyOf(later.url)).status).toBe(200);
});
