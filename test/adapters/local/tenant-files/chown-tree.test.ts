/** Changes the owner of trees. */
import { execFileSync } from "node:child_process";
import {
  chownSync,
  closeSync,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { chownFolder, chownTree } from "../../../../adapters/local/tenant-files/chown-tree.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { needs } from "../../../support/vitest/machine.ts";

const UID = 2_100_000_007;

const ownersBelow = (root: string): Map<string, number> => {
  const owners = new Map<string, number>();
  const look = (name: string): void => {
    const stats = lstatSync(join(root, name));
    owners.set(name, stats.uid);
    if (stats.isDirectory()) for (const inner of readdirSync(join(root, name))) look(join(name, inner));
  };
  look("");
  return owners;
};

test("changes every file and folder, without following links or touching devices", async (context) => {
  needs(context, "root");
  using folder = folderWith({ "outside/secret": "s", "outside/deep/secret": "s" });
  const tree = join(folder.path, "tree");
  mkdirSync(join(tree, "a", "b", "c"), { recursive: true });
  for (const name of ["file", "a/file", "a/b/c/file", "a/\u{1F600}"]) writeFileSync(join(tree, name), "x");
  mkdirSync(join(tree, "closed"), { mode: 0 });
  writeFileSync(join(tree, "closed", "inside"), "x", { mode: 0 });
  symlinkSync(join(folder.path, "outside", "secret"), join(tree, "a", "link"));
  symlinkSync(join(folder.path, "outside"), join(tree, "a", "folder-link"));
  symlinkSync("..", join(tree, "a", "up"));
  execFileSync("mkfifo", [join(tree, "fifo")]);
  await chownFolder(tree, UID);
  const owners = ownersBelow(tree);
  const kept = ["a/link", "a/folder-link", "a/up", "fifo"];
  for (const [name, owner] of owners) expect([name, owner]).toEqual([name, kept.includes(name) ? 0 : UID]);
  expect(owners.size).toBe(14);
  expect(new Set(ownersBelow(join(folder.path, "outside")).values())).toEqual(new Set([0]));
  expect(lstatSync(folder.path).uid).toBe(0);
});

test("changes a file with a name that is not UTF-8", async (context) => {
  needs(context, "root");
  using folder = folderWith({ "tree/file": "x" });
  const odd = Buffer.concat([Buffer.from(join(folder.path, "tree/")), Buffer.from([0xff, 0xfe])]);
  writeFileSync(odd, "x");
  await chownFolder(join(folder.path, "tree"), UID);
  expect(lstatSync(odd).uid).toBe(UID);
});

test("does not enter a link in place of a folder", async (context) => {
  needs(context, "root");
  using folder = folderWith({ "outside/secret": "s" });
  symlinkSync(join(folder.path, "outside"), join(folder.path, "tree"));
  await expect(chownFolder(join(folder.path, "tree"), UID)).rejects.toThrow(/ELOOP|ENOTDIR/);
  expect(lstatSync(join(folder.path, "outside", "secret")).uid).toBe(0);
});

test("resumes after an interruption, and does nothing if it is complete", async (context) => {
  needs(context, "root");
  using folder = folderWith({ "tree/a/one": "1", "tree/b/two": "2" });
  const tree = join(folder.path, "tree");
  // As after a crash: some files have the new owner, but not the folder itself.
  chownSync(join(tree, "a", "one"), UID, UID);
  await chownFolder(tree, UID);
  expect(new Set(ownersBelow(tree).values())).toEqual(new Set([UID]));
  chownSync(join(tree, "b"), 0, 0);
  await chownFolder(tree, UID);
  expect(lstatSync(join(tree, "b")).uid).toBe(0);
});

test("changes nothing outside while a service swaps folders with links", async (context) => {
  needs(context, "root");
  using folder = folderWith({ "outside/f0": "s", "outside/inner/f1": "s" });
  const [tree, outside] = [join(folder.path, "tree"), join(folder.path, "outside")];
  for (let n = 0; n < 40; n++) {
    mkdirSync(join(tree, `d${n}`, "inner"), { recursive: true });
    for (let m = 0; m < 30; m++) writeFileSync(join(tree, `d${n}`, `f${m}`), "x");
  }
  let done = false;
  const swap = async () => {
    for (let n = 0; !done; n = (n + 1) % 40) {
      const [name, aside] = [join(tree, `d${n}`), join(tree, `aside${n}`)];
      renameSync(name, aside);
      symlinkSync(outside, name);
      await new Promise(setImmediate);
      rmSync(name);
      renameSync(aside, name);
      await new Promise(setImmediate);
    }
  };
  const swapping = swap();
  for (let round = 0; round < 10; round++) await chownFolder(tree, UID + round);
  done = true;
  await swapping;
  expect(new Set(ownersBelow(outside).values())).toEqual(new Set([0]));
});

test("two concurrent calls for one folder walk it once, and both wait", async (context) => {
  needs(context, "root");
  using folder = folderWith({ "tree/a/one": "1" });
  const fd = openSync(join(folder.path, "tree"), "r");
  await Promise.all([chownTree(fd, UID), chownTree(fd, UID)]);
  expect(fstatSync(fd).uid).toBe(UID);
  expect(lstatSync(join(folder.path, "tree", "a", "one")).uid).toBe(UID);
  closeSync(fd);
});

test("deeply nested folders exhaust neither descriptors nor the stack", async (context) => {
  needs(context, "root");
  using folder = folderWith({ "tree/file": "x" });
  const tree = join(folder.path, "tree");
  mkdirSync(join(tree, ...Array<string>(1500).fill("d")), { recursive: true });
  const before = readdirSync("/proc/self/fd").length;
  await chownFolder(tree, UID);
  expect(readdirSync("/proc/self/fd").length).toBe(before);
  const ownerAt = (depth: number) => lstatSync(join(tree, ...Array<string>(depth).fill("d"))).uid;
  expect([ownerAt(900), ownerAt(1400)]).toEqual([UID, 0]);
  expect(lstatSync(tree).uid).toBe(UID);
  execFileSync("rm", ["-rf", tree]);
});

test("a hard link is the same file under each name", async (context) => {
  needs(context, "root");
  using folder = folderWith({ "tree/a": "x" });
  linkSync(join(folder.path, "tree", "a"), join(folder.path, "tree", "b"));
  await chownFolder(join(folder.path, "tree"), UID);
  expect(lstatSync(join(folder.path, "tree", "b")).uid).toBe(UID);
});
