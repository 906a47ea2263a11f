/** Built images on the disk: images in use and the newest others stay, unfinished ones do not. */
import type * as NodeFs from "node:fs";
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type ImageManifest, ImageStore } from "../../../../adapters/local/builds/image-store.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";

/** The error of every open of a file or folder, if set. */
const shortage = vi.hoisted((): { error: Error | undefined } => ({ error: undefined }));

vi.mock("node:fs", async (importOriginal) => {
  const original = await importOriginal<typeof NodeFs>();
  const failing =
    <A extends unknown[], R>(open: (...args: A) => R) =>
    (...args: A): R => {
      if (shortage.error !== undefined) throw shortage.error;
      return open(...args);
    };
  return { ...original, openSync: failing(original.openSync), readdirSync: failing(original.readdirSync) };
});

const acme = "acme" as AccountId;
const manifest: ImageManifest = { kind: "procfile", command: "exec true", path: [], needs: ["/usr"], requires: [] };
const HOUR = 3_600_000;

/** Removes leftovers immediately. */
const removing = { take: async (path: string) => rmSync(path, { recursive: true, force: true }) };

let root: string;
let store: ImageStore;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "portside-images-"));
  store = new ImageStore(root, removing);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const key = (n: number) => String(n).padStart(32, "0");

/** A complete image that was last used `hoursAgo`. */
const make = async (n: number, hoursAgo = 0, owner = acme): Promise<string> => {
  const reference = store.reference(owner, key(n));
  writeFileSync(join(await store.begin(reference), "server.js"), "");
  await store.complete(reference, manifest);
  const at = new Date(Date.now() - hoursAgo * HOUR);
  utimesSync(join(store.folder(reference), "image.json"), at, at);
  return reference;
};
const isThere = (reference: string) => existsSync(store.folder(reference));

test("finds an image once it is complete", async () => {
  const reference = store.reference(acme, key(1));
  expect(store.find(reference)).toBeUndefined();
  const app = await store.begin(reference);
  expect(store.find(reference)).toBeUndefined();
  await store.complete(reference, manifest);
  expect(store.find(reference)).toEqual({ ...manifest, reference, app });
  expect(reference).not.toContain("acme");
});

test("notices that the manifest of a known image was damaged, replaced or removed", async () => {
  const reference = await make(1);
  const file = join(store.folder(reference), "image.json");
  expect(store.inspect(reference)).toEqual({ whole: true, containerId: undefined });
  writeFileSync(file, "{");
  expect(store.inspect(reference).whole).toBe(false);
  rmSync(file);
  expect(store.inspect(reference).whole).toBe(false);
  writeFileSync(file, JSON.stringify({ kind: "container", id: "sha256:1" }));
  expect(store.inspect(reference)).toEqual({ whole: true, containerId: "sha256:1" });
});

test("an image that could not be read because of too many open files is neither missing nor removed", async () => {
  const reference = await make(1, 2);
  const unused = await make(2, 200);
  shortage.error = Object.assign(new Error("too many open files"), { code: "EMFILE" });
  try {
    expect(() => store.find(reference)).toThrow("too many open files");
    expect(() => store.inspect(reference)).toThrow("too many open files");
    expect(() => store.containerIds()).toThrow("too many open files");
    await expect(store.sweep(new Set(), true)).rejects.toThrow("too many open files");
  } finally {
    shortage.error = undefined;
  }
  expect(isThere(unused)).toBe(true);
  expect(store.find(reference)).toMatchObject(manifest);
  expect(store.inspect(reference).whole).toBe(true);
});

test.each(["local://../../etc/passwd", "local://x", "", "https://example.com/image"])(
  "%j is not an image",
  (reference) => {
    expect(store.find(reference)).toBeUndefined();
  },
);

test("removes an earlier build's files when a build begins", async () => {
  const reference = store.reference(acme, key(1));
  writeFileSync(join(await store.begin(reference), "left"), "");
  expect(existsSync(join(await store.begin(reference), "left"))).toBe(false);
});

test("removes incomplete images at startup: without a manifest, with half of one, with an invalid one", async () => {
  const whole = await make(1);
  const halves = [undefined, "", '{"kind":"node","comm', '{"kind":"wasm","command":"x","path":[],"needs":[]}'];
  const references = halves.map((_, index) => store.reference(acme, key(10 + index)));
  for (const [index, text] of halves.entries()) {
    await store.begin(references[index] as string);
    if (text !== undefined) writeFileSync(join(store.folder(references[index] as string), "image.json"), text);
  }
  await store.sweep(new Set(), false);
  expect(references.map(isThere), "a build may be under way").toEqual([true, true, true, true]);
  expect([...(await store.sweep(new Set(), true))]).toEqual(["/usr"]);
  expect(references.map(isThere)).toEqual([false, false, false, false]);
  expect(isThere(whole)).toBe(true);
});

test("removes unused images beyond the newest ten of an account, but no recent ones and none in use", async () => {
  const old = await Promise.all(Array.from({ length: 14 }, (_, n) => make(n, 2 + n)));
  const others = await make(99, 50, "others" as AccountId);
  const used = old[13] as string;
  await store.sweep(new Set([used]), false);
  expect(old.map(isThere)).toEqual([...Array(10).fill(true), false, false, false, true]);
  expect(isThere(others)).toBe(true);
  const fresh = await Promise.all(Array.from({ length: 12 }, (_, n) => make(50 + n)));
  await store.sweep(new Set([used]), false);
  expect(fresh.map(isThere)).toEqual(Array(12).fill(true));
});

test("removes an unused image after a week, unless it was found meanwhile", async () => {
  const [old, found] = [await make(1, 24 * 8), await make(2, 24 * 8)];
  expect(store.find(found)).toBeDefined();
  await store.sweep(new Set(), false);
  expect([old, found].map(isThere)).toEqual([false, true]);
});

test("removes the image of an older release after an hour, unless another service uses it", async () => {
  const [pruned, recent, used, spare] = await Promise.all([make(1, 2), make(2), make(3, 2), make(4, 2)]);
  await store.sweep(new Set([used]), false, new Set([pruned, recent, used]));
  expect([pruned, recent, used, spare].map(isThere)).toEqual([false, true, true, true]);
});

test("ignores a missing folder", async () => {
  expect([...(await new ImageStore(join(root, "none"), removing).sweep(new Set(), true))]).toEqual([]);
  mkdirSync(join(root, "empty"));
});
