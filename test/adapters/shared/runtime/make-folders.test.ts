/** Creates folders with their parents. An impossible path causes an error, not an endless loop. */
import { existsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeFolders } from "../../../../adapters/shared/runtime/make-folders.ts";
import { folderWith } from "../../../support/archives/folders.ts";

test("creates missing folders with the mode, and returns whether it created any", () => {
  using folder = folderWith();
  const path = join(folder.path, "a", "b", "c");
  expect(makeFolders(path, 0o700)).toBe(true);
  expect(makeFolders(path, 0o700)).toBe(false);
  expect(statSync(join(folder.path, "a")).mode & 0o777).toBe(0o700);
});

test("throws the system's error if a part of the path is a file", () => {
  using folder = folderWith();
  const file = join(folder.path, "file");
  writeFileSync(file, "");
  expect(() => makeFolders(file, 0o700)).toThrow("EEXIST");
  expect(() => makeFolders(join(file, "inner"), 0o700)).toThrow("ENOTDIR");
});

test.runIf(existsSync("/proc/self"))("throws the system's error where no folder can be created", () => {
  expect(() => makeFolders("/proc/portside", 0o700)).toThrow("ENOENT");
  expect(() => makeFolders("/proc/portside/inner", 0o700)).toThrow("ENOENT");
});
