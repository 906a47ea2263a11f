/** Every unsafe entry is rejected and named, however it is written. Safe entries are accepted. */
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { type Entry, tarGz } from "../../../support/archives/archives.ts";
import {
  blocksOf,
  END,
  entryOfType,
  gnuLongName,
  hugeHeader,
  paxHeader,
} from "../../../support/archives/odd-archives.ts";
import { walkArchive } from "../../../support/archives/walking.ts";

const good: Entry = { path: "index.js", content: "run()" };
const around = (...blocks: readonly Buffer[]): Buffer =>
  gzipSync(Buffer.concat([blocksOf(good), ...blocks, blocksOf(good), END]));
const named = (path: string): RegExp =>
  new RegExp(
    JSON.stringify(path.slice(0, 60))
      .slice(0, -1)
      .replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"),
  );

describe("a path out of the source folder", () => {
  const paths = [
    "..",
    "../",
    "../evil",
    "./../evil",
    "a/../../evil",
    "a/..",
    "a/../b",
    "a/./../../evil",
    "/etc/passwd",
    "//etc/passwd",
    "C:/windows",
    "c:evil",
    "..\\evil",
    "a\\b",
    "a\u0000b",
    "a\nb",
    "a\u007f",
    "\u001b[31m",
  ];

  test.each(paths)("%j is refused, in a plain header and in a pax header", async (path) => {
    const plain = await walkArchive(around(blocksOf({ path, content: "x" })));
    const pax = await walkArchive(around(paxHeader({ path }), blocksOf({ path: "short", content: "x" })));
    expect(pax).toMatch(/^is rejected: entry/);
    expect(pax).toMatch(named(path));
    // The path in a plain header ends at its first NUL, for every reader.
    if (path.includes("\0")) return expect(plain).toBeUndefined();
    expect(plain).toMatch(/^is rejected: entry/);
    return expect(plain).toMatch(named(path));
  });

  test.each(["...", "a..b", "..a", ".hidden", "./a", "a//b", "a b", "-rf", "%2e%2e/x", "ünï/çødé", "日本語.txt", "＼"])(
    "%j does not lead out",
    async (path) => {
      expect(await walkArchive(around(blocksOf({ path, content: "x" })))).toBeUndefined();
    },
  );
});

describe("an entry that is neither a file nor a folder", () => {
  const links: readonly Entry[] = [
    { path: "link", type: "SymbolicLink", linkpath: "index.js" },
    { path: "out", type: "SymbolicLink", linkpath: "../../etc" },
    { path: "nowhere", type: "SymbolicLink" },
    { path: "hard", type: "Link", linkpath: "index.js" },
    { path: "tty", type: "CharacterDevice" },
    { path: "disk", type: "BlockDevice" },
    { path: "pipe", type: "FIFO" },
  ];
  test.each(links)("$type $path is refused", async (entry) => {
    expect(await walkArchive(around(blocksOf(entry)))).toMatch(named(entry.path));
  });

  // GNU's dump folders, continued files, sparse files, labels; Solaris' access lists; unknown types.
  test.each([..."DMSVAIZ?"])("rejects an entry of type %j instead of omitting it", async (letter) => {
    const words = await walkArchive(around(entryOfType(letter, { path: "odd", content: "x" })));
    expect(words).toMatch(/^is rejected: entry "odd"/);
  });

  test("accepts a folder, old files and contiguous files", async () => {
    const folder = blocksOf({ path: "lib/", type: "Directory" });
    const old = entryOfType("\0", { path: "old", content: "x" });
    const contiguous = entryOfType("7", { path: "contiguous", content: "x" });
    expect(await walkArchive(around(folder, old, contiguous))).toBeUndefined();
  });
});

describe("names and sizes that do not fit into a header", () => {
  const long = `${"d/".repeat(40)}${"x".repeat(120)}`;

  test.each([
    ["GNU tar", gnuLongName(long)],
    ["pax", paxHeader({ path: long })],
    ["pax with a time", paxHeader({ mtime: "1700000000.123456789", path: long })],
  ])("reads a long path from %s", async (_how, header) => {
    expect(await walkArchive(around(header, blocksOf({ path: "short", content: "x" })))).toBeUndefined();
  });

  test("accepts a global pax header, as 'git archive' writes it", async () => {
    const comment = paxHeader({ comment: "4b825dc642cb6eb9a060e54bf8d69288fbee4904" }, "g");
    expect(await walkArchive(gzipSync(Buffer.concat([comment, blocksOf(good), END])))).toBeUndefined();
  });

  test.each([
    ["its header", hugeHeader("big", 9_000_000_000n)],
    ["a pax header", Buffer.concat([paxHeader({ size: "9000000000" }), blocksOf({ path: "big" })])],
  ])("rejects a size in %s", async (_how, blocks) => {
    expect(await walkArchive(around(blocks))).toMatch(/"big" is larger than 512Mi/);
  });

  test("rejects a size in a global header that the next header contradicts", async () => {
    const both = [paxHeader({ size: "9e9" }, "g"), paxHeader({ size: "0" }), blocksOf({ path: "big" })];
    expect(await walkArchive(around(...both))).toMatch(/^is rejected/);
  });

  test.each(["-512", "Infinity", "1.5", "1e3", "0x10", ""])("rejects the pax size %j", async (size) => {
    const odd = Buffer.concat([paxHeader({ size }), blocksOf({ path: "odd", content: "x" })]);
    expect(await walkArchive(around(odd))).toMatch(/"odd" has a size that is not a number/);
  });
});

test("accepts any modes", async () => {
  for (const mode of [0o000, 0o4755, 0o6777, 0o1777])
    expect(await walkArchive(tarGz([{ ...good, mode }]))).toBeUndefined();
});
