/** Paths of folders and objects, and the decoding of previews. */
import { expect, test } from "vitest";
import { decodeText, folderOf, imageTypeOf, nameOf, parentsOf } from "../../../../hosts/console/volumes/paths.ts";

test.each([
  ["", [], "", ""],
  ["a", [], "a", ""],
  ["a/", [], "a/", "a/"],
  ["a/b/c.txt", ["a/", "a/b/"], "c.txt", "a/b/"],
  ["a/b/", ["a/"], "b/", "a/b/"],
])("divides %j into its folders and its name", (path, parents, name, folder) => {
  expect([parentsOf(path), nameOf(path), folderOf(path)]).toEqual([parents, name, folder]);
});

test.each([
  ["a/photo.PNG", "image/png"],
  ["drawing.svg", "image/svg+xml"],
  ["page.html", undefined],
  ["png", undefined],
])("finds the image type of %s", (path, type) => {
  expect(imageTypeOf(path)).toBe(type);
});

test("decodes text, omits a cut character, and rejects other bytes", () => {
  const bytes = new TextEncoder().encode("aé");
  expect(decodeText(bytes)).toBe("aé");
  expect(decodeText(bytes.subarray(0, 2))).toBe("a");
  expect(decodeText(new Uint8Array([0x61, 0]))).toBeUndefined();
  expect(decodeText(new Uint8Array([0xff, 0x61]))).toBeUndefined();
});
