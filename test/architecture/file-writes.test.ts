/** Every change of the file system by an adapter has a reason why a planted link cannot redirect it. */
import { globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { fileWritesOf } from "./file-writes.ts";
import { writtenFiles } from "./written-files.ts";

const used = globSync(["adapters/local/**/*.ts", "adapters/shared/**/*.ts"])
  .flatMap((file) => fileWritesOf(file, readFileSync(file, "utf8")).map((name) => `${file}: ${name}`))
  .sort();
const listed = Object.entries(writtenFiles)
  .flatMap(([file, { functions }]) => functions.map((name) => `${file}: ${name}`))
  .sort();

const seeded: readonly (readonly [code: string, functions: readonly string[]])[] = [
  ['import { writeFileSync } from "node:fs";', ["writeFileSync"]],
  ['import { writeFile as save } from "node:fs/promises";', ["writeFile"]],
  ['import { promises } from "fs"; promises.rename("a", "b");', ["promises"]],
  ['import * as fs from "node:fs"; fs.rmSync("x");', ["*"]],
  ['import fs from "node:fs/promises"; await fs.cp("a", "b");', ["*"]],
  ['const { rm } = await import("node:fs/promises");', ["*"]],
  ['const fs = require("fs");', ["*"]],
  ['const fs = process.getBuiltinModule("node:fs");', ["*"]],
  ['export { symlink } from "node:fs/promises";', ["*"]],
  ['import { constants, open } from "node:fs/promises";', ["open"]],
  [
    'import type { FileHandle } from "node:fs/promises"; export const f = (one: FileHandle) => one.chmod(0o777);',
    [".chmod"],
  ],
  ['import { createWriteStream, mkdtempSync } from "node:fs";', ["createWriteStream", "mkdtempSync"]],
  ['import { DatabaseSync } from "node:sqlite";', ["DatabaseSync"]],
];

const harmless: readonly string[] = [
  'import { readFileSync, type WriteStream } from "node:fs"; readFileSync("x");',
  'import { join } from "node:path"; const file = { write: () => join("a", "b") }; file.write();',
  'import type { Stats } from "node:fs";',
];

describe("the check finds", () => {
  test.each(seeded)("%s", (code, functions) => expect(fileWritesOf("x.ts", code)).toEqual(functions));
  test.each(harmless)("nothing in %s", (code) => expect(fileWritesOf("x.ts", code)).toEqual([]));
});

test("written-files.ts lists every change of the file system with its reason", () => {
  expect(used.filter((one) => !listed.includes(one))).toEqual([]);
});

test("written-files.ts lists no unused entry", () => {
  expect(listed.filter((one) => !used.includes(one))).toEqual([]);
});
