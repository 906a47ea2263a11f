/** A full disk: 507, the earlier object stays, and no partial file is left. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { serveObjects } from "../../../support/providers/local-objects.ts";
import { has, needs } from "../../../support/vitest/machine.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-full-"));
  mkdirSync(join(folder, "disk"));
  if (has("root")) execFileSync("mount", ["-t", "tmpfs", "-o", "size=4m", "tmpfs", join(folder, "disk")]);
});
afterEach(() => {
  if (has("root")) execFileSync("umount", [join(folder, "disk")]);
  rmSync(folder, { recursive: true, force: true });
});

const kibibytes = (count: number, letter: string) => Buffer.alloc(count * 1024, letter);

test("returns 507 for an upload that does not fit, and changes nothing", async (context) => {
  needs(context, "root");
  await using storage = await serveObjects(join(folder, "disk"));
  expect((await storage.put("a", kibibytes(2048, "a"))).status).toBe(201);
  for (const path of ["a", "b", "new/folder/c"]) {
    const refused = await storage.put(path, kibibytes(3072, "x"));
    expect(refused.status).toBe(507);
    expect(((await refused.json()) as { detail: string }).detail).toMatch(/full/);
  }
  expect(readdirSync(storage.uploads)).toEqual([]);
  expect((await (await fetch(storage.url("GET", "a"))).text()).length).toBe(2048 * 1024);
  const { objects } = await storage.objects.list("vol-test", { prefix: "", limit: 10 });
  expect(objects.map(({ path, size }) => [path, size])).toEqual([["a", 2048 * 1024]]);
  // There is space again.
  expect((await storage.put("b", kibibytes(1024, "b"))).status).toBe(201);
});
