/** Removes folders, whatever tenant code did in them. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { removeTree } from "../../../../adapters/local/tenant-files/remove-tree.ts";

let root: string;
let tree: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "portside-tree-"));
  tree = join(root, "tree");
  mkdirSync(tree);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test("accepts a missing folder", async () => {
  await removeTree(join(root, "nothing"));
});

test("removes a folder without permissions", async () => {
  mkdirSync(join(tree, "closed", "inner"), { recursive: true });
  writeFileSync(join(tree, "closed", "inner", "file"), "");
  for (const path of ["closed/inner", "closed"]) chmodSync(join(tree, path), 0);
  await removeTree(tree);
  expect(existsSync(tree)).toBe(false);
});

test("removes a folder that is nested deeper than the longest path", async () => {
  // Step by step, because no single path could be that long.
  const dig = `for (let n = 0; n < 60; n++) { fs.mkdirSync("d".repeat(200)); process.chdir("d".repeat(200)); }`;
  execFileSync(process.execPath, ["-e", dig], { cwd: tree });
  await removeTree(tree);
  expect(existsSync(tree)).toBe(false);
});

test("does not change the target of a link", async () => {
  const outside = join(root, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "file"), "kept");
  chmodSync(outside, 0o500);
  symlinkSync(outside, join(tree, "link"));
  mkdirSync(join(tree, "closed"));
  chmodSync(join(tree, "closed"), 0);
  await removeTree(tree);
  expect(existsSync(tree)).toBe(false);
  expect(existsSync(join(outside, "file"))).toBe(true);
  chmodSync(outside, 0o700);
});

test("removes nothing outside while a folder is swapped with a link", async () => {
  const [outside, victim] = [join(root, "outside"), join(tree, "victim")];
  const names = Array.from({ length: 600 }, (_, index) => `file-${index}`);
  for (const folder of [outside, victim]) {
    mkdirSync(folder);
    for (const name of names) writeFileSync(join(folder, name), "");
  }
  const removed = removeTree(tree);
  while (readdirSync(victim).length === names.length) await new Promise(setImmediate);
  renameSync(victim, join(root, "aside"));
  symlinkSync(outside, victim);
  await removed;
  expect(readdirSync(outside).length).toBe(names.length);
  expect(existsSync(tree)).toBe(false);
});

test("removes folders without permissions deep below, for their owner", async () => {
  const folders = Array.from({ length: 80 }, (_, depth) => join(tree, "d/".repeat(depth + 1)));
  mkdirSync(folders.at(-1) as string, { recursive: true });
  writeFileSync(join(folders.at(-1) as string, "file"), "");
  for (const folder of folders.reverse()) chmodSync(folder, 0);
  await removeTree(tree);
  expect(existsSync(tree)).toBe(false);
});

/** Names that a service can choose and that are not text. */
const oddNames = [Buffer.from([0xff, 0xfe]), Buffer.from([0xff, 0xfd]), Buffer.from([0xc3, 0x28])];

const oddTree = (folder: string, depth: number): void => {
  for (const name of oddNames) {
    const path = Buffer.concat([Buffer.from(`${folder}/`), name]);
    // Created with a plain name, because the paths of this test are text.
    const plain = join(folder, "plain");
    mkdirSync(plain);
    writeFileSync(Buffer.concat([Buffer.from(`${plain}/file-`), name]), "odd");
    symlinkSync("/nowhere", Buffer.concat([Buffer.from(`${plain}/link-`), name]));
    if (depth > 0) oddTree(plain, depth - 1);
    else chmodSync(plain, 0);
    renameSync(plain, path);
  }
};

test("removes a folder with names that are not UTF-8, nested deeply and without permissions", async () => {
  oddTree(tree, 3);
  const dig = `
    const odd = Buffer.from([0xff]);
    for (let n = 0; n < 40; n++) { fs.mkdirSync("d"); process.chdir("d"); fs.renameSync("../d", Buffer.concat([Buffer.from("../"), odd])); }`;
  execFileSync(process.execPath, ["-e", dig], { cwd: tree });
  await removeTree(tree);
  expect(existsSync(tree)).toBe(false);
});
