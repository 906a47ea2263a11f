/** Examples of valid and invalid entries of a source archive, on both sides of every limit of contract 4.1. */
import { describe, expect, test } from "vitest";
import { type ArchiveLimits, archiveLimits, MiB } from "../../../../core/domain/accounts/limits.ts";
import { ArchiveContents, type ArchiveEntry } from "../../../../core/domain/deploy/archive.ts";

const file = (path: string, size = 1): ArchiveEntry => ({ path, type: "file", size });

const folder = (path: string): ArchiveEntry => ({ path, type: "folder", size: 0 });

/** The issue of the last entry; the entries before it must be valid. */
const problemOf = (...entries: readonly ArchiveEntry[]): string | undefined => {
  const contents = new ArchiveContents();
  const problems = entries.map((entry) => contents.admit(entry));
  expect(problems.slice(0, -1).every((problem) => problem === undefined)).toBe(true);
  return problems.at(-1);
};

const contentsOf = (limits: Partial<ArchiveLimits>, ...entries: readonly ArchiveEntry[]) => {
  const contents = new ArchiveContents({ ...archiveLimits, ...limits });
  const problem = entries.map((entry) => contents.admit(entry)).find((one) => one !== undefined);
  return { entries: contents.entries, bytes: contents.bytes, problem };
};

const deep = (parts: number): string => Array.from({ length: parts }, () => "a").join("/");

describe("accepts", () => {
  test.each([
    "a",
    "a/b.txt",
    "./a",
    "a//b",
    "...",
    "..a",
    "a..",
    "a b",
    "-rf",
    "数据",
    deep(64),
    "a".repeat(255),
    `${"a".repeat(255)}/`.repeat(3).concat("a".repeat(255)),
  ])("%j", (path) => expect(problemOf(file(path))).toBeUndefined());

  test("folders", () => expect(problemOf(folder("src/"))).toBeUndefined());

  test("the root folder", () => expect(problemOf(folder("./"))).toBeUndefined());

  test("values on each limit", () => {
    expect(problemOf(file("a", 512 * MiB))).toBeUndefined();
    expect(problemOf(...["a", "b", "c", "d"].map((path) => file(path, 512 * MiB)))).toBeUndefined();
  });

  test("a repeated file", () => expect(problemOf(file("a"), file("a"))).toBeUndefined());
});

describe("counting", () => {
  test("entries and bytes add up", () =>
    expect(contentsOf({}, file("a", 10), file("b", 5))).toMatchObject({ entries: 2, bytes: 15 }));

  test("each implied folder counts as one entry, once", () => {
    expect(contentsOf({}, file("a/b/c/d.txt")).entries).toBe(4);
    expect(contentsOf({}, file("a/b/c/d.txt"), file("a/b/e.txt"), file("./a//b/./f.txt")).entries).toBe(6);
  });

  test.each([
    ["before", [folder("a/"), folder("a/b"), file("a/b/c")]],
    ["after", [file("a/b/c"), folder("a/b"), folder("a/")]],
  ])("a folder with its own entry %s its files counts once", (_when, entries) =>
    expect(contentsOf({}, ...entries).entries).toBe(3),
  );

  test("a repeated entry counts again, which bounds the headers", () => {
    expect(contentsOf({}, folder("a"), folder("a"), file("b"), file("b")).entries).toBe(4);
    expect(contentsOf({ entries: 3 }, folder("./"), folder("./"), folder("."), folder("./")).problem).toContain(
      "exceeds the limit of 3 entries",
    );
  });

  test("rejects implied folders past the limit without storing more of them", () => {
    const { entries, problem } = contentsOf({ entries: 10 }, file("a/b/c/d"), file(`x/${"y/".repeat(50)}z`));
    expect(problem).toBe(
      `entry ${JSON.stringify(`x/${"y/".repeat(50)}z`)} exceeds the limit of 10 entries, including folders that appear only in paths`,
    );
    expect(entries).toBe(11);
  });
});

describe("rejects a path that is both a file and a folder", () => {
  test.each([
    ["a file below a file", [file("a"), file("a/b")], 'entry "a/b" is below "a", which is a file'],
    ["a file far below a file", [file("x/a"), file("x/./a/b/c")], '"x/./a/b/c" is below "x/a", which is a file'],
    ["a folder below a file", [file("a"), folder("a/b/")], "is below"],
    ["a file at an implied folder", [file("a/b"), file("a")], 'entry "a" is a file, but an earlier entry needs'],
    ["a file at a folder's path", [folder("a/"), file("a")], 'entry "a" is a file'],
    ["a folder at a file's path", [file("a"), folder("a/")], 'entry "a/" is a folder, but an earlier entry is a file'],
  ])("%s", (_what, entries, words) => expect(problemOf(...entries)).toContain(words));

  test("paths that differ in case or Unicode normalization are distinct", () =>
    expect(problemOf(file("A"), file("a/b"), file("e\u0301"), file("\u00e9/b"))).toBeUndefined());
});

describe("rejected entries", () => {
  test.each([
    ["an absolute path", "/etc/passwd", "absolute"],
    ["a drive", "C:/windows", "absolute"],
    ["a parent path", "../x", "'..'"],
    ["a parent path in the middle", "a/../../x", "'..'"],
    ["a parent path at the end", "a/..", "'..'"],
    ["a backslash", "a\\..\\b", "backslash"],
    ["a null byte", "a\0b", "control character"],
    ["a line feed", "a\nb", "control character"],
    ["too many folders", deep(65), "deeper than 64"],
    ["too long a path", "a".repeat(1025), "longer than 1024 bytes"],
    ["too long a name", `a/${"b".repeat(256)}/c`, "longer than 255 bytes"],
    ["too long a name in UTF-8", "é".repeat(128), "longer than 255 bytes"],
    ["no path", "", "has no path"],
    ["a folder's path", "a/", "only the path of a folder may"],
    ["the root folder", "./", "only the path of a folder may"],
    ["a folder's path with a dot", "a/.", "only the path of a folder may"],
    ["too long a path in UTF-8", "é".repeat(513), "longer than 1024 bytes"],
  ])("%s", (_what, path, words) => {
    const problem = problemOf(file(path));
    expect(problem).toContain(words);
    expect(problem).toMatch(/^entry "/);
  });

  test("rejects links and devices, whatever their target", () =>
    expect(problemOf({ path: "link", type: "other", size: 0 })).toContain('entry "link" is a link, a device'));

  test("rejects a folder with content", () =>
    expect(problemOf({ path: "a/", type: "folder", size: 1 })).toContain(
      '"a/" is a folder, but contains data; only files may contain data',
    ));

  test("rejects invalid headers", () =>
    expect(problemOf({ ...file("a"), flaw: "has two paths" })).toBe('entry "a" has two paths'));

  test("rejects values one past each limit", () => {
    expect(problemOf(file("a", 512 * MiB + 1))).toContain("larger than 512Mi");
    expect(problemOf(...["a", "b", "c", "d"].map((path) => file(path, 512 * MiB)), file("e"))).toContain(
      "larger than 2Gi",
    );
    expect(problemOf(...Array.from({ length: 50_001 }, (_, at) => file(`${at}`)))).toContain(
      "exceeds the limit of 50000 entries",
    );
  });

  test("does not copy a path's control characters into the message", () =>
    expect(problemOf(file("a\u001b[2Jb"))).not.toContain("\u001b"));

  test("shortens a long path in the message", () =>
    expect(problemOf(file("a".repeat(5000)))?.length).toBeLessThan(300));
});

test("the limits are a parameter", () =>
  expect(contentsOf({ entries: 1 }, file("a"), file("b")).problem).toContain("exceeds the limit of 1 entries"));
