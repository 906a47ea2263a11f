/** A separate thread unpacks archives, and stops when the build ends, whatever the archive contains. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Extractor } from "../../../../adapters/local/builds/extract.ts";
import type { Source } from "../../../../core/ports/source-spool.ts";
import { bytesOf, tarGz } from "../../../support/archives/archives.ts";
import { type Folder, folderWith } from "../../../support/archives/folders.ts";

let around: Folder;
let folder: string;
let script: URL | null | undefined;
beforeEach(() => {
  around = folderWith();
  folder = join(around.path, "app");
  mkdirSync(folder);
});
afterEach(() => around[Symbol.dispose]());

const sourceOf = (open: Source["open"]): Source => ({ digest: "", bytes: 0, open, discard: async () => undefined });
const extract = (
  source: Source,
  signal = new AbortController().signal,
  extractor = new Extractor(script),
): Promise<void> => extractor.extract({ source, folder, owner: "ann" }, signal);

const files = Array.from({ length: 5000 }, (_, at) => ({ path: `folder-${at % 50}/${at}.txt`, content: `file ${at}` }));

test("fills the folder, and keeps the event loop responsive", async () => {
  let turns = 0;
  let isDone = false;
  const extracted = extract(sourceOf(() => bytesOf(tarGz(files)))).finally(() => {
    isDone = true;
  });
  while (!isDone) {
    turns += 1;
    await setImmediate();
  }
  await extracted;
  expect(readdirSync(folder)).toHaveLength(50);
  expect(readFileSync(join(folder, "folder-7/57.txt"), "utf8")).toBe("file 57");
  expect(statSync(join(folder, "folder-7")).mode & 0o777).toBe(0o755);
  expect(readdirSync(around.path)).toEqual(["app"]);
  // Each file takes several file system calls. In this thread, the event loop would not run between them.
  expect(turns).toBeGreaterThan(100);
});

describe.each([
  ["in a thread", undefined],
  ["in a bundle, in the caller's thread", null],
])("%s", (_where, given) => {
  beforeEach(() => {
    script = given;
  });
  afterEach(() => {
    script = undefined;
  });

  test("fills the folder", async () => {
    await extract(sourceOf(() => bytesOf(tarGz(files.slice(0, 500)))));
    expect(readdirSync(folder)).toHaveLength(50);
    expect(readFileSync(join(folder, "folder-7/57.txt"), "utf8")).toBe("file 57");
    expect(readdirSync(around.path)).toEqual(["app"]);
  });

  test("an archive that differs from the checked one fails with archive_invalid", async () => {
    const archive = tarGz([{ path: "a" }, { path: "a/b" }]);
    await expect(extract(sourceOf(() => bytesOf(archive)))).rejects.toMatchObject({
      failure: { reason: "archive_invalid", message: expect.stringContaining('"a/b" is below "a"') },
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  test("writes nothing more after a cancelled build", async () => {
    const cancelled = new AbortController();
    const archive = tarGz(files);
    async function* cancelling() {
      yield archive.subarray(0, archive.length / 2);
      await expect.poll(() => readdirSync(around.path).length).toBeGreaterThan(1);
      cancelled.abort(new Error("the build was cancelled"));
      // The rest of the archive never arrives.
      await new Promise(() => undefined);
    }
    await expect(extract(sourceOf(cancelling), cancelled.signal)).rejects.toThrow("the build was cancelled");
    expect(readdirSync(folder)).toEqual([]);
    const left = readdirSync(around.path, { recursive: true }).length;
    await setImmediate();
    expect(readdirSync(around.path, { recursive: true })).toHaveLength(left);
  });

  test("fails after the deadline, and writes nothing more", async () => {
    async function* stalling() {
      yield tarGz(files).subarray(0, 1000);
      // The rest of the archive never arrives.
      await new Promise(() => undefined);
    }
    await expect(extract(sourceOf(stalling), undefined, new Extractor(script, 1))).rejects.toMatchObject({
      failure: { reason: "build_timeout", message: expect.stringContaining("took longer than 0.001 s") },
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  test("fails with the source's own error if it cannot be read", async () => {
    async function* broken() {
      yield tarGz(files).subarray(0, 100);
      throw new Error("the disk broke");
    }
    await expect(extract(sourceOf(broken))).rejects.toThrow("the disk broke");
  });

  test("fails with the system's error if a write fails", async () => {
    const archive = tarGz(files);
    async function* meddling() {
      yield archive.subarray(0, archive.length / 2);
      const own = () => readdirSync(around.path).find((name) => name !== "app") as string;
      await expect.poll(() => readdirSync(join(around.path, own())).length).toBeGreaterThan(1);
      rmSync(join(around.path, own()), { recursive: true });
      yield archive.subarray(archive.length / 2);
    }
    await expect(extract(sourceOf(meddling))).rejects.toMatchObject({ code: "ENOENT" });
    expect(readdirSync(folder)).toEqual([]);
  });
});

test("fails the build if the thread cannot start or crashes", async () => {
  const missing = new Extractor(new URL("file:///nowhere/unpack.js"));
  await expect(
    extract(
      sourceOf(() => bytesOf(tarGz(files))),
      undefined,
      missing,
    ),
  ).rejects.toThrow(/unpack\.js/);
  const dying = new Extractor(new URL("data:text/javascript,process.exit(3)"));
  await expect(
    extract(
      sourceOf(() => bytesOf(tarGz(files))),
      undefined,
      dying,
    ),
  ).rejects.toThrow(/exited with 3/);
});

test("fails if the folder is missing, and does not create it", async () => {
  const gone = join(around.path, "gone");
  const source = sourceOf(() => bytesOf(tarGz([{ path: "a/b/c", content: "x" }])));
  await expect(
    new Extractor().extract({ source, folder: join(gone, "app"), owner: "ann" }, new AbortController().signal),
  ).rejects.toMatchObject({ code: "ENOENT" });
  expect(existsSync(gone)).toBe(false);
});
