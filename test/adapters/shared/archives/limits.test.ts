/** The bounds of the archive limits: the maximum is accepted, one more is rejected and named. */
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { archiveLimits, MiB } from "../../../../core/domain/accounts/limits.ts";
import { tarGz } from "../../../support/archives/archives.ts";
import { blocksOf, END, gnuLongName, gzipWithZeros } from "../../../support/archives/odd-archives.ts";
import { walkArchive } from "../../../support/archives/walking.ts";

test("the limits match the contract", () => {
  expect(archiveLimits).toEqual({
    fileBytes: 100 * MiB,
    entries: 50_000,
    unpackedBytes: 2048 * MiB,
    entryBytes: 512 * MiB,
    depth: 64,
    pathBytes: 1024,
    partBytes: 255,
  });
});

const many = Buffer.concat(Array.from({ length: 50_001 }, (_, n) => blocksOf({ path: `f${n}` })));
const BLOCK = 512;

test("accepts 50,000 entries, rejects and names one more", async () => {
  const archive = (entries: number) => gzipSync(Buffer.concat([many.subarray(0, entries * BLOCK), END]), { level: 1 });
  expect(await walkArchive(archive(50_000))).toBeUndefined();
  expect(await walkArchive(archive(50_001))).toBe('is rejected: entry "f50000" exceeds the limit of 50000 entries');
});

test("rejects 200,000 files at the 50,001st", async () => {
  const archive = gzipSync(Buffer.concat([many, many, many, many, END]), { level: 1 });
  expect(await walkArchive(archive)).toMatch(/"f50000" exceeds the limit of 50000 entries/);
});

test("folders count as entries", async () => {
  const entries = Array.from({ length: 11 }, (_, n) => ({ path: `d${n}/`, type: "Directory" }) as const);
  expect(await walkArchive(tarGz(entries), { limits: { ...archiveLimits, entries: 10 } })).toMatch(
    /"d10\/" exceeds the limit/,
  );
});

test.each([
  ["in ASCII", "x"],
  ["in characters of three bytes", "語"],
])("accepts a path of 1,024 bytes, rejects a longer one (%s)", async (_how, letter) => {
  const bytes = Buffer.byteLength(letter);
  const folder = `${letter.repeat(60 / bytes)}/`;
  const folders = folder.repeat(16);
  const fits = folders + "x".repeat(1024 - Buffer.byteLength(folders));
  const archive = (path: string) => gzipSync(Buffer.concat([gnuLongName(path), blocksOf({ path: "short" }), END]));
  expect(await walkArchive(archive(fits))).toBeUndefined();
  expect(await walkArchive(archive(`${fits}x`))).toMatch(/has a path longer than 1024 bytes/);
});

test("accepts 64 levels, rejects 65; '.' and '//' are not levels", async () => {
  const deep = "d/".repeat(63);
  expect(await walkArchive(tarGz([{ path: `${deep}f` }, { path: `./${deep.replace("/", "/./")}/f` }]))).toBeUndefined();
  expect(await walkArchive(tarGz([{ path: `d/${deep}f` }]))).toMatch(/is nested deeper than 64 levels/);
});

test("accepts a file of 512 MiB, rejects one byte more by its header", async () => {
  const claims = (size: number) => blocksOf({ path: "big", claimedSize: size });
  const archive = gzipWithZeros(claims(512 * MiB), 512, END);
  // Only its checksum is wrong, because the shortcut that creates the archive does not compute it.
  expect(await walkArchive(archive)).toBe("is damaged: its gzip data is corrupt");
  expect(await walkArchive(gzipWithZeros(claims(513 * MiB), 16))).toMatch(/"big" is larger than 512Mi/);
  expect(await walkArchive(gzipWithZeros(claims(512 * MiB + 1), 16))).toMatch(/"big" is larger than 512Mi/);
});

test("accepts the maximum in total, rejects one byte more by its header", async () => {
  const limits = { ...archiveLimits, entryBytes: 4 * MiB, unpackedBytes: 10 * MiB };
  const file = (path: string, bytes: number) => ({ path, content: Buffer.alloc(bytes) });
  const within = [file("a", 4 * MiB), file("b", 4 * MiB), file("c", 2 * MiB)];
  expect(await walkArchive(tarGz(within), { limits })).toBeUndefined();
  expect(await walkArchive(tarGz([...within, file("d", 1)]), { limits })).toMatch(
    /"d" makes the unpacked archive larger than 10Mi/,
  );
});
