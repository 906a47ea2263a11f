/** Moves obsolete trees aside immediately and removes them eventually, even after a crash. */
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Leftovers } from "../../../../adapters/local/data-folder/leftovers.ts";
import { type Folder, folderWith } from "../../../support/archives/folders.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";

let around: Folder;
let leftovers: Leftovers;
const at = (...parts: string[]) => join(around.path, ...parts);
beforeEach(() => {
  around = folderWith({ "outside/kept.txt": "kept" });
  leftovers = new Leftovers(at("leftovers"), silentLogger);
});
afterEach(async () => {
  await leftovers.close();
  around[Symbol.dispose]();
});

const makeTree = (path: string): void => {
  for (let folder = 0; folder < 4; folder++) {
    mkdirSync(join(path, `${folder}`, "closed"), { recursive: true });
    for (let file = 0; file < 5; file++) writeFileSync(join(path, `${folder}`, `${file}`), "x");
    chmodSync(join(path, `${folder}`, "closed"), 0);
  }
  symlinkSync(at("outside"), join(path, "link"));
};

test("frees the path of a tree immediately, and removes its files", async () => {
  await leftovers.open();
  makeTree(at("tree"));
  await leftovers.take(at("tree"));
  expect(existsSync(at("tree"))).toBe(false);
  await expect.poll(() => readdirSync(at("leftovers"))).toEqual([]);
  expect(readdirSync(at("outside"))).toEqual(["kept.txt"]);
});

test("removes several trees, including those added in the meantime", async () => {
  await leftovers.open();
  for (const name of ["a", "b", "c"]) {
    makeTree(at(name));
    await leftovers.take(at(name));
  }
  await expect.poll(() => readdirSync(at("leftovers"))).toEqual([]);
});

test("accepts a missing tree, an empty folder and a file", async () => {
  await leftovers.open();
  await leftovers.take(at("missing"));
  mkdirSync(at("empty"));
  await leftovers.take(at("empty"));
  expect(existsSync(at("empty"))).toBe(false);
  // An empty folder needs no process.
  expect(readdirSync(at("leftovers"))).toEqual([]);
  writeFileSync(at("file"), "x");
  await leftovers.take(at("file"));
  expect(existsSync(at("file"))).toBe(false);
});

test("removes the leftovers of an earlier server", async () => {
  makeTree(at("leftovers", "old"));
  await leftovers.open();
  await expect.poll(() => readdirSync(at("leftovers"))).toEqual([]);
});

test("stops when closed, and leaves the rest to the next server", async () => {
  await leftovers.open();
  makeTree(at("tree"));
  await leftovers.take(at("tree"));
  await leftovers.close();
  makeTree(at("another"));
  await leftovers.take(at("another"));
  expect(existsSync(at("another"))).toBe(false);
  expect(readdirSync(at("leftovers")).length).toBeGreaterThan(0);
  const next = new Leftovers(at("leftovers"), silentLogger);
  await next.open();
  await expect.poll(() => readdirSync(at("leftovers"))).toEqual([]);
  await next.close();
});

describe("in a bundle, without a script", () => {
  beforeEach(() => {
    leftovers = new Leftovers(at("leftovers"), silentLogger, null);
  });

  test("removes the trees in this process, including those added in the meantime", async () => {
    makeTree(at("leftovers", "old"));
    await leftovers.open();
    for (const name of ["a", "b", "c"]) {
      makeTree(at(name));
      await leftovers.take(at(name));
      expect(existsSync(at(name))).toBe(false);
    }
    await expect.poll(() => readdirSync(at("leftovers"))).toEqual([]);
    expect(readdirSync(at("outside"))).toEqual(["kept.txt"]);
  });

  test("stops when closed, and leaves the rest to the next server", async () => {
    await leftovers.open();
    for (const name of ["a", "b", "c"]) {
      makeTree(at(name));
      await leftovers.take(at(name));
    }
    await leftovers.close();
    const left = readdirSync(at("leftovers"));
    await new Promise(setImmediate);
    expect(readdirSync(at("leftovers"))).toEqual(left);
    const next = new Leftovers(at("leftovers"), silentLogger, null);
    await next.open();
    await expect.poll(() => readdirSync(at("leftovers"))).toEqual([]);
    await next.close();
  });
});
