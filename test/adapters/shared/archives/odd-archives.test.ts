/**
 * Archives with odd headers. Portside rejects each of them and names an entry, or unpacks the same files as every tar
 * reader of this machine. Otherwise, a build could use files that Portside has not checked.
 */
import { execFileSync } from "node:child_process";
import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { folderWith } from "../../../support/archives/folders.ts";
import { END, entryOfType, gnuLongName, patched, paxHeader } from "../../../support/archives/odd-archives.ts";
import { type Unpacked, unpack } from "../../../support/archives/unpacking.ts";
import { walkArchive } from "../../../support/archives/walking.ts";
import { needs } from "../../../support/vitest/machine.ts";
import { runs, within } from "../../../support/vitest/runs.ts";

type Tree = Readonly<Record<string, string>>;

/** Returns the files with their content, and the folders, by path. */
const treeOf = (folder: string): Tree =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const isExecutable = (lstatSync(path).mode & 0o111) !== 0;
      const content = entry.isFile() ? `${isExecutable ? "x" : "-"} ${readFileSync(path, "base64")}` : "a folder";
      return [relative(folder, path), content];
    }),
  );

const treeOfUnpacked = ({ files, folders }: Unpacked): Tree => ({
  ...Object.fromEntries(
    Object.entries(files).map(([path, { content, mode }]) => [
      path,
      `${(mode & 0o111) === 0 ? "-" : "x"} ${content.toString("base64")}`,
    ]),
  ),
  ...Object.fromEntries(Object.keys(folders).map((path) => [path, "a folder"])),
});

/** Does not set times: a header may have one that the system cannot store, and the trees are compared without them. */
const PYTHON = `import sys, tarfile
tarfile.TarFile.utime = lambda *_: None
for folder in sys.argv[1:]:
    with tarfile.open(folder + ".tar.gz", errorlevel=2) as archive: archive.extractall(folder)`;

/** Unpacks `FOLDER.tar.gz` into each folder. */
const readers = {
  tar: (folders: readonly string[]) => {
    const line = 'for folder; do tar -xzf "$folder.tar.gz" -C "$folder" 2>/dev/null; done; true';
    execFileSync("sh", ["-c", line, "sh", ...folders]);
  },
  python: (folders: readonly string[]) => void execFileSync("python3", ["-W", "ignore", "-c", PYTHON, ...folders]),
};

const paths = fc.constantFrom("a", "b", "a/b", "./a", "a//c", "d/", "d", "e/f/", "-", "ü/語", "x".repeat(100), ".");
const longPaths = fc.oneof(
  paths,
  fc.constantFrom(`${"d/".repeat(60)}f`, "y".repeat(255), "y".repeat(256), "é".repeat(120)),
);

const records = fc.oneof(
  longPaths.map((path) => ({ path })),
  fc.constantFrom<Record<string, string>>(
    { size: "1" },
    { size: "600" },
    { size: "01" },
    { linkpath: "a" },
    { path: "a\nb" },
    { path: "" },
    { path: "a\0b" },
    { comment: "any\nthing" },
    { mtime: "1.5", path: "timed" },
    { path: "one", size: "1" },
    { "GNU.sparse.major": "1", "GNU.sparse.name": "hole" },
    { hdrcharset: "BINARY" },
    { "SCHILY.xattr.user.x": "y\n12 path=evil" },
    { uid: "0", uname: "root", mode: "0777" },
  ),
);

const extended = fc.oneof(
  fc
    .tuple(records, fc.constantFrom("x", "x", "x", "g"))
    .map(([found, letter]) => paxHeader(found, letter as "x" | "g")),
  longPaths.map(gnuLongName),
  fc.constant(entryOfType("K", { path: "././@LongLink", content: "a\0" })),
  fc
    .constantFrom("11 path=abc\n", "99 path=abc\n", "5 a=\n", "path=abc\n", "11 path=abcx")
    .map((content) => entryOfType("x", { path: "x", content })),
);

/** Bytes that tar readers may interpret differently: numbers, letters and magic words in any field. */
const change = fc.record({
  at: fc.oneof(
    fc.constantFrom(0, 99, 100, 124, 125, 134, 135, 136, 156, 157, 257, 262, 263, 265, 345, 475),
    fc.nat(511),
  ),
  bytes: fc.constantFrom(
    "\0",
    " ",
    "0",
    "7",
    "8",
    "-",
    "/",
    "\x80",
    "\xff",
    "a",
    "\0\0\0",
    "ustar  \0",
    "ustar\x0000",
    "\0".repeat(12),
  ),
});

const plain = fc
  .record({
    path: paths,
    type: fc.constantFrom(..."000000000\0\x2d7"),
    bytes: fc.constantFrom(0, 1, 1, 511, 512, 513),
    mode: fc.constantFrom(0o644, 0o755, 0o4711),
    changes: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.array(change, { minLength: 1, maxLength: 2 })),
  })
  .map(({ path, type, bytes, mode, changes }) => {
    const blocks = entryOfType(type, { path, mode, content: type === "5" ? "" : "c".repeat(bytes) });
    return patched(blocks, (header) => {
      for (const { at, bytes: put } of changes) header.write(put, at, 512 - at, "latin1");
    });
  });

const entry = fc
  .tuple(fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, fc.array(extended, { minLength: 1, maxLength: 2 })), plain)
  .map(([headers, blocks]) => Buffer.concat([...headers, blocks]));

const archive = fc
  .array(entry, { minLength: 1, maxLength: 3 })
  .map((entries) => gzipSync(Buffer.concat([...entries, END]), { level: 1 }));

describe("an archive with odd headers", () => {
  test.for(Object.keys(readers) as (keyof typeof readers)[])(
    "is rejected, or %s unpacks the same files as the builder",
    { timeout: within() },
    async (reader, context) => {
      needs(context, reader);
      using around = folderWith();
      const taken: { readonly folder: string; readonly tree: Tree }[] = [];
      let refused = 0;
      for (const [at, bytes] of fc.sample(archive, runs(150).numRuns).entries()) {
        const problem = await walkArchive(bytes);
        const unpacked = await unpack(bytes, 700);
        expect(unpacked.problem).toBe(problem);
        if (problem === undefined) {
          const folder = join(around.path, String(at));
          mkdirSync(folder);
          writeFileSync(`${folder}.tar.gz`, bytes);
          taken.push({ folder, tree: treeOfUnpacked(unpacked) });
        } else {
          expect(problem).toMatch(
            /^is rejected: entry "|is damaged after entry|not a tar|is cut off|has data after its end/,
          );
          refused += 1;
        }
      }
      readers[reader](taken.map(({ folder }) => folder));
      for (const { folder, tree } of taken) expect(treeOf(folder), folder).toEqual(tree);
      // The generator produces such cases.
      expect(taken.length).toBeGreaterThan(10);
      expect(refused).toBeGreaterThan(10);
    },
  );
});
