/** Paths of objects: sorted by their bytes, and rejected if and only if they break a rule. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  comparePaths,
  folderBelow,
  isObjectFolder,
  objectPathProblem,
  objectPathShape,
  parseObjectPath,
} from "../../../../core/domain/volumes/object-path.ts";
import { character, nastyString } from "../../../arbitraries/index.ts";
import { violations } from "../../../support/http/json-schema.ts";
import { runs } from "../../../support/vitest/runs.ts";

/** Characters at the limits of each UTF-8 length and around the surrogates, where encodings differ in order. */
const unit = fc.oneof(
  fc.constantFrom(
    "a",
    "b",
    "/",
    "\u007e",
    "\u0080",
    "\u07ff",
    "\u0800",
    "\ud7ff",
    "\ue000",
    "\uffff",
    "\u{10000}",
    "\u{10ffff}",
  ),
  character(),
);
const text = fc.string({ unit, maxLength: 6 });

const sign = (order: number): number => Math.sign(order);

describe("the order", () => {
  test("is the order of the UTF-8 bytes", () => {
    fc.assert(
      fc.property(text, text, text, (shared, a, b) => {
        const bytes = Buffer.compare(Buffer.from(shared + a), Buffer.from(shared + b));
        expect(sign(comparePaths(shared + a, shared + b))).toBe(bytes);
      }),
      runs(2000),
    );
  });

  test("is code point order, which differs from JavaScript's", () => {
    expect(comparePaths("\uffff", "\u{10000}")).toBeLessThan(0);
    expect("\uffff" < "\u{10000}").toBe(false);
    expect(comparePaths("a", "a")).toBe(0);
    expect(comparePaths("a", "a/b")).toBeLessThan(0);
  });
});

describe("folders", () => {
  test.each([
    ["", "a", undefined],
    ["", "a/b/c", "a/"],
    ["a/", "a/b/c", "a/b/"],
    ["a/b", "a/b/c", "a/b/"],
    ["a/b/", "a/b/c", undefined],
    ["a/b/c", "a/b/c", undefined],
    ["a", "ab/c", "ab/"],
  ])("below '%s', '%s' is in %s", (prefix, path, folder) => expect(folderBelow(prefix, path)).toBe(folder));

  test("contain their paths, one level below the prefix", () => {
    fc.assert(
      fc.property(text, text, (prefix, rest) => {
        const path = prefix + rest;
        const folder = folderBelow(prefix, path);
        expect(folder === undefined).toBe(!rest.includes("/"));
        if (folder === undefined) return;
        expect(path.startsWith(folder) && folder.startsWith(prefix)).toBe(true);
        expect(folder.slice(prefix.length).split("/")).toEqual([expect.any(String), ""]);
      }),
      runs(1000),
    );
  });

  test("have names that are valid in object paths", () => {
    expect(["a/", "a/b c/"].map(isObjectFolder)).toEqual([true, true]);
    expect(["/", "../", "a//", "a\\b/", "a\n/", `${"x".repeat(256)}/`].map(isObjectFolder)).not.toContain(true);
  });
});

/** The rules of contract 5.3, implemented independently. */
const keepsTheRules = (path: string): boolean => {
  const bytes = Buffer.from(path);
  const parts = path.split("/");
  return (
    bytes.toString() === path &&
    bytes.length >= 1 &&
    bytes.length <= 1024 &&
    parts.every((part) => part !== "" && part !== "." && part !== ".." && Buffer.byteLength(part) <= 255) &&
    !/[\p{Cc}\\]/u.test(path)
  );
};

const part = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom("a", "b c", "...", ".x", "é", "😀", "%2e%2e", "..", ".", "", "é".repeat(127)),
  },
  fc.string({ unit, maxLength: 3 }),
  fc.integer({ min: 250, max: 260 }).map((length) => "x".repeat(length)),
);
const nearlyPath = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join("/"));

test("reports a problem if and only if a rule is broken", () => {
  let kept = 0;
  fc.assert(
    fc.property(fc.oneof({ weight: 3, arbitrary: nearlyPath }, nastyString()), (path) => {
      const keeps = keepsTheRules(path);
      if (keeps) kept++;
      expect(objectPathProblem(path) === undefined).toBe(keeps);
      expect(parseObjectPath(path)).toBe(keeps ? path : undefined);
      const hasShape = violations(path, objectPathShape).length === 0;
      if (keeps) expect(hasShape).toBe(true);
      // The schema counts the characters of the whole path.
      else if (path.isWellFormed() && path.length < 250) expect(hasShape).toBe(false);
    }),
    runs(2000),
  );
  expect(kept).toBeGreaterThan(0);
});

test.each([
  ["", "an object path must not be empty"],
  ["\ud800", "an object path must be well-formed Unicode"],
  ["/a", "an object path must be relative: remove the leading '/'"],
  ["a\\b", "an object path must not contain a backslash; separate its parts with '/'"],
  ["a\0", "an object path must not contain control characters"],
  ["a\u0085", "an object path must not contain control characters"],
  ["é/".repeat(342).slice(0, -1), "an object path must be at most 1024 bytes; got 1025"],
  ["a//b", "an object path must not have empty parts: remove '//' and a trailing '/'"],
  ["a/", "an object path must not have empty parts: remove '//' and a trailing '/'"],
  ["a/../b", "an object path must not have '.' or '..' as a part"],
  [".", "an object path must not have '.' or '..' as a part"],
  ["é".repeat(128), "each part of an object path must be at most 255 bytes"],
])("rejects %j with its rule", (path, rule) => expect(objectPathProblem(path)).toBe(rule));
