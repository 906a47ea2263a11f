/** Which entries a source archive may have, by example, at every bound of contract 4.1. */
import { describe, expect, test } from "vitest";
import { type ArchiveEntry, type ArchiveUse, admitEntry, emptyArchive } from "../../../core/domain/archive.ts";
import { archiveLimits, GiB, MiB } from "../../../core/domain/limits.ts";

const file = (path: string, size = 1): ArchiveEntry => ({ path, type: "file", size });

const problemOf = (entry: ArchiveEntry, use: ArchiveUse = emptyArchive): string | undefined => {
  const verdict = admitEntry(use, entry);
  return "problem" in verdict ? verdict.problem : undefined;
};

const deep = (parts: number): string => Array.from({ length: parts }, () => "a").join("/");

describe("taken", () => {
  test.each(["a", "a/b.txt", "./a", "a//b", "...", "..a", "a..", "a b", "-rf", "数据", deep(64), "a".repeat(1024)])(
    "%j",
    (path) => expect(problemOf(file(path))).toBeUndefined(),
  );

  test("folders", () => expect(problemOf({ path: "src/", type: "folder", size: 0 })).toBeUndefined());

  test("up to each limit exactly", () => {
    expect(problemOf(file("a", 512 * MiB))).toBeUndefined();
    expect(problemOf(file("a"), { entries: 49_999, bytes: 0 })).toBeUndefined();
    expect(problemOf(file("a"), { entries: 0, bytes: 2 * GiB - 1 })).toBeUndefined();
  });

  test("what is used adds up", () => {
    const first = admitEntry(emptyArchive, file("a", 10));
    expect(first).toEqual({ use: { entries: 1, bytes: 10 } });
    expect("use" in first && admitEntry(first.use, file("b", 5))).toEqual({ use: { entries: 2, bytes: 15 } });
  });
});

describe("refused, naming the entry", () => {
  test.each([
    ["an absolute path", "/etc/passwd", "absolute"],
    ["a drive", "C:/windows", "absolute"],
    ["a way out", "../x", "'..'"],
    ["a way out in the middle", "a/../../x", "'..'"],
    ["a way out at the end", "a/..", "'..'"],
    ["a backslash", "a\\..\\b", "backslash"],
    ["a null byte", "a\0b", "control character"],
    ["a line end", "a\nb", "control character"],
    ["too many folders", deep(65), "deeper than 64"],
    ["too long a path", "a".repeat(1025), "over 1024 bytes"],
    ["too long a path in UTF-8", "é".repeat(513), "over 1024 bytes"],
  ])("%s", (_what, path, words) => {
    const problem = problemOf(file(path));
    expect(problem).toContain(words);
    expect(problem).toMatch(/^entry "/);
  });

  test("links and devices, whatever they lead to", () =>
    expect(problemOf({ path: "link", type: "other", size: 0 })).toContain('entry "link" is a link, a device'));

  test("past each limit by one", () => {
    expect(problemOf(file("a", 512 * MiB + 1))).toContain("over 512Mi");
    expect(problemOf(file("a"), { entries: 50_000, bytes: 0 })).toContain("at most 50000 entries");
    expect(problemOf(file("a"), { entries: 0, bytes: 2 * GiB })).toContain("over 2Gi unpacked");
  });

  test("a path's control characters are not written to the answer", () =>
    expect(problemOf(file("a\u001b[2Jb"))).not.toContain("\u001b"));

  test("a long path is shortened in the words", () =>
    expect(problemOf(file("a".repeat(5000)))?.length).toBeLessThan(300));
});

test("the limits are a parameter", () => {
  const tight = { ...archiveLimits, entries: 1 };
  expect("problem" in admitEntry({ entries: 1, bytes: 0 }, file("a"), tight)).toBe(true);
});
