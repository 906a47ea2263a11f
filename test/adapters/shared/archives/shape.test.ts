/** Files that are not a complete tar.gz are rejected with a message that names the problem. */
import { gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { tarGz, tarOf } from "../../../support/archives/archives.ts";
import { blocksOf, END, entryOfType, paxHeader } from "../../../support/archives/odd-archives.ts";
import { walkArchive } from "../../../support/archives/walking.ts";

const files = [
  { path: "index.js", content: "x".repeat(3000) },
  { path: "lib/", type: "Directory" },
  { path: "lib/a.js", content: "y" },
] as const;
const tar = tarOf(files);
const archive = gzipSync(tar);
/** An empty zip file, which is only its end record. */
const ZIP = Buffer.from(`504b0506${"00".repeat(18)}`, "hex");

const refused: readonly [string, Uint8Array, RegExp][] = [
  ["nothing", Buffer.alloc(0), /^is empty$/],
  ["one byte", Buffer.from([0x1f]), /not a gzip file/],
  ["a zip", ZIP, /not a gzip file/],
  ["a tar without gzip", tar, /not a gzip file/],
  ["text", Buffer.from("hello"), /not a gzip file/],
  ["a gzip of nothing", gzipSync(""), /gzip, but not a tar/],
  ["a gzip of text", gzipSync("hello"), /gzip, but not a tar/],
  ["a gzip of much text", gzipSync("hello ".repeat(10_000)), /gzip, but not a tar/],
  ["a gzip of a gzip", gzipSync(archive), /gzip, but not a tar/],
  ["a gzip of a zstd", gzipSync(zstdCompressSync(tar)), /gzip, but not a tar/],
  ["a gzip of a zip", gzipSync(Buffer.concat([ZIP, Buffer.alloc(1000)])), /gzip, but not a tar/],
  ["an archive of nothing", tarGz([]), /contains no files/],
  ["headers for all files and no file", gzipSync(Buffer.concat([paxHeader({ comment: "x" }, "g"), END])), /no files/],
  ["gzip data cut in the middle", archive.subarray(0, archive.length / 2), /cut off/],
  ["gzip data without its checksum", archive.subarray(0, -3), /cut off/],
  ["gzip data with a wrong checksum", Buffer.concat([archive.subarray(0, -8), Buffer.alloc(8, 7)]), /damaged/],
  ["rubbish after the gzip data", Buffer.concat([archive, Buffer.from("rubbish")]), /damaged/],
  ["a tar cut within a file", gzipSync(tar.subarray(0, 1500)), /cut off/],
  ["a tar cut within a header", gzipSync(tar.subarray(0, 512 + 3072 + 100)), /cut off/],
  ["a tar cut before a header", gzipSync(tar.subarray(0, 512 + 3072)), /cut off/],
  ["a tar without its end", gzipSync(blocksOf(...files)), /cut off/],
  [
    "a header with a wrong checksum",
    gzipSync(Buffer.concat([blocksOf(files[0]), Buffer.alloc(512, 1)])),
    /after entry 1/,
  ],
  ["sparse files", gzipSync(Buffer.concat([entryOfType("S", files[0]), END])), /"index.js" is a link, a device or/],
];

describe.each([64 * 1024, 1, 700])("in pieces of %i bytes", (piece) => {
  test.each(refused)("%s is refused", async (_what, bytes, words) => {
    // Chunks of one byte split the gzip header's two magic bytes, and everything else. Large archives use larger
    // chunks.
    const size = bytes.length > 5000 ? Math.max(piece, 256) : piece;
    expect(await walkArchive(bytes, { piece: size })).toMatch(words);
  });

  test("accepts a valid archive", async () => {
    expect(await walkArchive(archive, { piece })).toBeUndefined();
  });
});

test("accepts padding: zeros after the gzip data, and a record of zeros after the tar", async () => {
  expect(await walkArchive(Buffer.concat([archive, Buffer.alloc(9 * 1024 * 1024)]))).toBeUndefined();
  expect(await walkArchive(gzipSync(Buffer.concat([tar, Buffer.alloc(500 * 1024)])))).toBeUndefined();
});

test("accepts several gzip members", async () => {
  const members = Buffer.concat([gzipSync(tar.subarray(0, 700)), gzipSync(tar.subarray(700))]);
  expect(await walkArchive(members)).toBeUndefined();
});
