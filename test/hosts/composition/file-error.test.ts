/** Messages of file system errors contain the path once and no system call. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { formatFileError } from "../../../hosts/composition/file-error.ts";

const errorOf = (path: string): NodeJS.ErrnoException => {
  try {
    readFileSync(path);
  } catch (error) {
    return error as NodeJS.ErrnoException;
  }
  throw new Error("the path is readable");
};

test.each([
  ["/nonexistent", "'/nonexistent' does not exist."],
  ["/", "'/' is a folder, not a file."],
  ["/dev/null/inner", "'/dev/null/inner' cannot be opened: a part of its path is a file, not a folder."],
])("%s", (path, message) => {
  expect(formatFileError(path, errorOf(path))).toBe(message);
});

test("keeps Node's message for other errors", () => {
  const error = Object.assign(new Error("ENOSPC: no space left on device, open '/full'"), { code: "ENOSPC" });
  expect(formatFileError("/full", error)).toBe("'/full' cannot be used: no space left on device.");
});
