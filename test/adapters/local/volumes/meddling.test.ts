/** All requests to a volume get a complete response while a service replaces its folders with files and links. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ObjectPath } from "../../../../core/domain/volumes/object-path.ts";
import { type Folder, folderWith } from "../../../support/archives/folders.ts";
import { serveObjects, type TestStorage } from "../../../support/providers/local-objects.ts";

/** Continuously turns `way` into a folder, a file, a link to a folder outside and a link to itself. */
const MEDDLER = `
const { mkdirSync, rmSync, symlinkSync, writeFileSync } = require("node:fs");
const [folder, outside] = process.argv.slice(1);
const way = folder + "/way";
const turns = [
  () => mkdirSync(way + "/deep", { recursive: true }),
  () => writeFileSync(way, "a file"),
  () => symlinkSync(outside, way),
  () => symlinkSync(way, way),
  () => mkdirSync(way + "/object", { recursive: true }),
  () => {},
];
console.log("began");
for (let at = 0; ; at++) {
  try { rmSync(way, { recursive: true, force: true }); turns[at % turns.length](); } catch {}
}`;

let around: Folder;
let storage: TestStorage;
beforeEach(async () => {
  around = folderWith({ "outside/canary": "alive" });
  storage = await serveObjects(join(around.path, "storage"));
});
afterEach(async () => {
  await storage[Symbol.asyncDispose]();
  around[Symbol.dispose]();
});

const meddling = async (work: () => Promise<void>): Promise<void> => {
  const meddler = spawn(process.execPath, ["-e", MEDDLER, storage.folder, join(around.path, "outside")]);
  const ended = once(meddler, "close");
  try {
    await once(meddler.stdout, "data");
    await work();
  } finally {
    meddler.kill("SIGKILL");
    await ended;
  }
};

const repeat = async (times: number, act: (at: number) => Promise<void>): Promise<void> => {
  let at = 0;
  const one = async (): Promise<void> => {
    while (at < times) await act(at++);
  };
  await Promise.all(Array.from({ length: 8 }, one));
};

test("stores uploads, or refuses them with 409 or 503, and truncates none", async () => {
  const statuses = new Map<number, number>();
  const paths = ["way/object", "way", "way/deep/object", "way/canary"];
  await meddling(() =>
    repeat(400, async (at) => {
      const response = await storage.put(paths[at % paths.length] as string, `upload ${at}`);
      await response.text();
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      if (response.status === 503) expect(response.headers.get("retry-after")).toBe("5");
    }),
  );
  expect([200, 201, 409, 503]).toEqual(expect.arrayContaining([...statuses.keys()]));
  // Each kind of response occurred, except possibly the last.
  expect((statuses.get(201) ?? 0) + (statuses.get(200) ?? 0)).toBeGreaterThan(0);
  expect(statuses.get(409) ?? 0).toBeGreaterThan(0);
  // A failed upload is logged.
  expect(storage.complaints).toHaveLength(statuses.get(503) ?? 0);
  expect(readdirSync(join(around.path, "outside"))).toEqual(["canary"]);
  expect(readdirSync(storage.uploads)).toEqual([]);
});

test("answers reads, lists and deletes", async () => {
  const path = "way/object" as ObjectPath;
  await meddling(() =>
    repeat(300, async (at) => {
      if (at % 3 === 0) {
        const response = await fetch(storage.url("GET", path), { method: at % 2 === 0 ? "GET" : "HEAD" });
        await response.text();
        expect([200, 404, 503]).toContain(response.status);
      } else if (at % 3 === 1) await storage.objects.list("vol-test", { prefix: "", limit: 10 });
      else expect(await storage.objects.remove("vol-test", path)).toBeTypeOf("boolean");
    }),
  );
  expect(readdirSync(join(around.path, "outside"))).toEqual(["canary"]);
});

test("returns 503 for an upload that cannot be committed, logs it, and keeps the earlier object", async () => {
  await storage.put("kept", "earlier");
  // The endpoint receives uploads in this folder. Without it, no upload can be committed.
  rmSync(storage.uploads, { recursive: true });
  writeFileSync(storage.uploads, "no folder");
  const response = await storage.put("kept", "later");
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(response.headers.get("access-control-allow-origin")).toBe("*");
  expect(storage.complaints).toHaveLength(1);
  expect(await (await fetch(storage.url("GET", "kept"))).text()).toBe("earlier");
});

test("refuses an upload whose path contains a link, and names the link", async () => {
  mkdirSync(join(storage.folder, "a"));
  symlinkSync(join(around.path, "outside"), join(storage.folder, "a", "link"));
  const response = await storage.put("a/link/object", "x");
  expect(response.status).toBe(409);
  expect(await response.text()).toContain("'a/link'");
  expect(readdirSync(join(around.path, "outside"))).toEqual(["canary"]);
});
