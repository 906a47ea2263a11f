/** Every admitted entry stays inside its folder, and an archive is accepted if and only if it is within the limits. */
import { resolve } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ArchiveContents, type ArchiveEntry } from "../../../../core/domain/deploy/archive.ts";
import { nastyString } from "../../../arbitraries/index.ts";
import { runs } from "../../../support/vitest/runs.ts";

const path = fc.oneof(
  nastyString(),
  fc
    .array(fc.constantFrom("..", ".", "", "a", "b", "...", "C:", "\\", "..\\", "/"), { maxLength: 8 })
    .map((parts) => parts.join("/")),
);

test("an admitted path joined to a folder stays in that folder", () => {
  fc.assert(
    fc.property(path, (given) => {
      if (new ArchiveContents().admit({ path: given, type: "file", size: 0 }) !== undefined) return;
      const landed = resolve("/target", given);
      expect(landed === "/target" || landed.startsWith("/target/")).toBe(true);
      expect(resolve("/target", given.replaceAll("\\", "/"))).toBe(landed);
    }),
    runs(2000),
  );
});

const small = { fileBytes: 0, entries: 8, unpackedBytes: 20, entryBytes: 8, depth: 3, pathBytes: 12, partBytes: 10 };

const entry: fc.Arbitrary<ArchiveEntry> = fc.record({
  path: fc.constantFrom(
    "a",
    "b",
    "d/e",
    "d/f",
    "d",
    "a/b",
    "a/b/c",
    "c/b",
    "a/b/c/d",
    "abcdefghij",
    "abcdefghijk",
    "ab/cdefghijklm",
    "éé/ééé",
  ),
  type: fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom("file", "folder") },
    { weight: 1, arbitrary: fc.constant("other") },
  ),
  size: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat({ max: 9 })),
});

const foldersAbove = (path: string): string[] =>
  path.split("/").flatMap((_, at, parts) => (at === 0 ? [] : [parts.slice(0, at).join("/")]));

/** The rule for the archive as a whole, implemented independently. */
const isTaken = (entries: readonly ArchiveEntry[]): boolean => {
  const files = new Set(entries.filter(({ type }) => type === "file").map(({ path }) => path));
  const named = new Set(entries.filter(({ type }) => type === "folder").map(({ path }) => path));
  const implied = new Set(entries.flatMap(({ path }) => foldersAbove(path)));
  const isFolder = (path: string) => named.has(path) || implied.has(path);
  const each = entries.every(
    ({ path: name, type, size }) =>
      type !== "other" &&
      size <= (type === "folder" ? 0 : 8) &&
      Buffer.byteLength(name) <= 12 &&
      name.split("/").length <= 3 &&
      name.split("/").every((part) => Buffer.byteLength(part) <= 10),
  );
  const sum = entries.reduce((total, { size }) => total + size, 0);
  const count = entries.length + [...implied].filter((path) => !named.has(path)).length;
  return each && count <= 8 && sum <= 20 && ![...files].some(isFolder);
};

test("accepts an archive if and only if its entries, paths and sums are within the limits", () => {
  let taken = 0;
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 7 }), (entries) => {
      const contents = new ArchiveContents(small);
      const problem = entries.map((one) => contents.admit(one)).find((one) => one !== undefined);
      expect(problem === undefined).toBe(isTaken(entries));
      taken += problem === undefined && entries.length > 1 ? 1 : 0;
    }),
    runs(2000),
  );
  expect(taken).toBeGreaterThan(50);
});
