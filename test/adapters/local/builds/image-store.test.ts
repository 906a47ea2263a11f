/** Which built images stay on the disk: those in use, the newest others, and nothing half made. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ImageManifest, ImageStore } from "../../../../adapters/local/builds/image-store.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";

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

/** A whole image that was used so long ago. */
const make = async (n: number, hoursAgo = 0, owner = acme): Promise<string> => {
  const reference = store.reference(owner, key(n));
  writeFileSync(join(await store.begin(reference), "server.js"), "");
  await store.complete(reference, manifest);
  const at = new Date(Date.now() - hoursAgo * HOUR);
  utimesSync(join(store.folder(reference), "image.json"), at, at);
  return reference;
};
const isThere = (reference: string) => existsSync(store.folder(reference));

test("an image is found once it is whole", async () => {
  const reference = store.reference(acme, key(1));
  expect(store.find(reference)).toBeUndefined();
  const app = await store.begin(reference);
  expect(store.find(reference)).toBeUndefined();
  await store.complete(reference, manifest);
  expect(store.find(reference)).toEqual({ ...manifest, reference, app });
  expect(reference).not.toContain("acme");
});

test.each(["local://../../etc/passwd", "local://x", "", "https://example.com/image"])("%j is no image", (reference) => {
  expect(store.find(reference)).toBeUndefined();
});

test("beginning again removes what an earlier build left", async () => {
  const reference = store.reference(acme, key(1));
  writeFileSync(join(await store.begin(reference), "left"), "");
  expect(existsSync(join(await store.begin(reference), "left"))).toBe(false);
});

test("at the start what is not whole goes: without a manifest, with half of one, with one of another kind", async () => {
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

test("beyond the newest ten of an account, unused images go, not those in use and not fresh ones", async () => {
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

test("an unused image goes after a week, and being found keeps it", async () => {
  const [old, found] = [await make(1, 24 * 8), await make(2, 24 * 8)];
  expect(store.find(found)).toBeDefined();
  await store.sweep(new Set(), false);
  expect([old, found].map(isThere)).toEqual([false, true]);
});

test("sweeping a folder that is not there does nothing", async () => {
  expect([...(await new ImageStore(join(root, "none"), removing).sweep(new Set(), true))]).toEqual([]);
  mkdirSync(join(root, "empty"));
});
