/** Unpacking: modes, long names, and no writes outside of the folder, even for archives that were not checked. */
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { MiB } from "../../../../core/domain/accounts/limits.ts";
import { tarGz } from "../../../support/archives/archives.ts";
import { blocksOf, END, gnuLongName, hugeHeader, paxHeader } from "../../../support/archives/odd-archives.ts";
import { unpack } from "../../../support/archives/unpacking.ts";
import { walkArchive } from "../../../support/archives/walking.ts";

const packed = (...blocks: readonly Buffer[]): Buffer => gzipSync(Buffer.concat([...blocks, END]));
const file = (path: string, content = "x"): Buffer => blocksOf({ path, content });

describe("an archive that was not checked", () => {
  const hostile: Readonly<Record<string, readonly Buffer[]>> = {
    "a path with '..'": [file("../evil")],
    "a path with '..' within": [file("a/../../evil")],
    "an absolute path": [file("/tmp/portside-evil")],
    "a pax path with '..'": [paxHeader({ path: "../evil" }), file("short")],
    "a long path with '..'": [gnuLongName(`${"a/".repeat(60)}${"../".repeat(61)}evil`), file("short")],
    "a link out, and a file through it": [
      blocksOf({ path: "out", type: "SymbolicLink", linkpath: "../../.." }),
      file("out/evil"),
    ],
    "a link to a folder within, and a path with '..' through it": [
      blocksOf({ path: "d/", type: "Directory" }),
      blocksOf({ path: "l", type: "SymbolicLink", linkpath: "d" }),
      file("l/../../evil"),
    ],
    "a hard link to a file of the machine": [blocksOf({ path: "passwd", type: "Link", linkpath: "/etc/passwd" })],
    "a hard link out": [blocksOf({ path: "out", type: "Link", linkpath: "../../x" }), file("out")],
    "a device": [blocksOf({ path: "null", type: "CharacterDevice" })],
    "a pipe": [blocksOf({ path: "pipe", type: "FIFO" })],
    "a file of 9 GB": [hugeHeader("big", 9_000_000_000n)],
  };

  test.each(Object.entries(hostile))("%s is not unpacked", async (_what, blocks) => {
    const { files, outside, problem } = await unpack(packed(file("first"), ...blocks, file("last")));
    expect(problem).toBeDefined();
    expect(outside).toEqual([]);
    // Files before the bad entry exist. The builder removes them with the folder.
    expect(Object.keys(files)).toEqual(["first"]);
  });
});

test("drops the set-user-id, set-group-id and sticky bits, keeps the executable bit", async () => {
  const modes = { a: 0o6755, b: 0o4644, c: 0o1777, d: 0o000, e: 0o100, f: 0o666 };
  const entries = Object.entries(modes).map(([path, mode]) => ({ path, mode, content: "x" }));
  const folders = [
    { path: "open/", type: "Directory", mode: 0o7777 },
    { path: "shut/", type: "Directory", mode: 0o000 },
    { path: "shut/in", content: "x" },
  ] as const;
  const archive = tarGz([...entries, ...folders]);
  expect(await walkArchive(archive)).toBeUndefined();
  const unpacked = await unpack(archive);
  expect(unpacked.problem).toBeUndefined();
  const found = Object.fromEntries(Object.entries(unpacked.files).map(([path, { mode }]) => [path, mode]));
  expect(found).toEqual({ a: 0o755, b: 0o644, c: 0o755, d: 0o644, e: 0o755, f: 0o644, "shut/in": 0o644 });
  expect(unpacked.folders).toEqual({ open: { mode: 0o755 }, shut: { mode: 0o755 } });
});

test("unpacks a file of zeros, however well it compresses", async () => {
  const archive = tarGz([{ path: "zeros", content: Buffer.alloc(64 * MiB) }]);
  expect(64 * MiB).toBeGreaterThan(1000 * archive.length);
  expect(await walkArchive(archive)).toBeUndefined();
  expect((await unpack(archive)).files["zeros"]?.content.length).toBe(64 * MiB);
});

test("the last entry of a repeated file wins", async () => {
  const { files, problem } = await unpack(packed(file("a", "old"), file("b"), file("a", "new")));
  expect(problem).toBeUndefined();
  expect(files["a"]?.content.toString()).toBe("new");
});

describe("a path of a thousand bytes in characters of three", () => {
  const path = `${Array.from({ length: 5 }, () => "語".repeat(60)).join("/")}/f`;

  test.each([
    ["pax", paxHeader({ path })],
    ["GNU tar", gnuLongName(path)],
  ])("is complete however the archive is cut into pieces (%s)", async (_how, header) => {
    for (let before = 0; before < 24; before++) {
      const blocks = [file("before", "x".repeat(before * 37)), header, file("short", "x")];
      const archive = gzipSync(Buffer.concat([...blocks, END]), { level: 0 });
      expect(Object.keys((await unpack(archive, 311 + before)).files)).toEqual(expect.arrayContaining([path]));
    }
  });
});
