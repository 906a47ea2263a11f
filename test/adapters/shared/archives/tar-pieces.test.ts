/** Cutting a tar stream preserves its bytes and splits no extended header. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { TarPieces } from "../../../../adapters/shared/archives/tar-pieces.ts";
import { blocksOf, END, entryOfType, gnuLongName, paxHeader } from "../../../support/archives/odd-archives.ts";
import { runs } from "../../../support/vitest/runs.ts";

const piecesOf = (bytes: Buffer, sizes: readonly number[]): Buffer[] => {
  const pieces = new TarPieces();
  const made: Buffer[] = [];
  for (let at = 0, n = 0; at < bytes.length; n++) {
    const size = sizes[n % sizes.length] as number;
    made.push(pieces.take(bytes.subarray(at, at + size)));
    at += size;
  }
  return [...made, pieces.rest()];
};

const sizes = fc.array(fc.integer({ min: 1, max: 3000 }), { minLength: 1, maxLength: 10 });

test("preserves any bytes", () => {
  const property = fc.property(fc.uint8Array({ maxLength: 5000 }), sizes, (bytes, cuts) => {
    expect(Buffer.concat(piecesOf(Buffer.from(bytes), cuts)).equals(Buffer.from(bytes))).toBe(true);
  });
  fc.assert(property, runs(200));
});

test("keeps an extended header in one piece, even if its content looks like another header", () => {
  const text = "語".repeat(600);
  const decoy = paxHeader({ comment: "x".repeat(2000) });
  const headers = [
    paxHeader({ path: text }),
    gnuLongName(text),
    entryOfType("K", { path: "link", content: text }),
    entryOfType("x", { path: "odd", content: Buffer.concat([Buffer.alloc(512), decoy]) }),
  ];
  const property = fc.property(fc.constantFrom(...headers), fc.nat(2000), sizes, (header, before, cuts) => {
    const start = blocksOf({ path: "a", content: "x".repeat(before) });
    const pieces = piecesOf(Buffer.concat([start, header, blocksOf({ path: "b" }), END]), cuts);
    let at = 0;
    const borders = pieces.map((piece) => {
      at += piece.length;
      return at;
    });
    expect(borders.filter((border) => border > start.length && border < start.length + header.length)).toEqual([]);
  });
  fc.assert(property, runs(300));
});

test("does not hold back endless headers", () => {
  const pieces = new TarPieces();
  const header = entryOfType("x", { path: "x", claimedSize: 8 * 1024 * 1024 });
  const out = Array.from({ length: 1000 }, () => pieces.take(header));
  expect(Buffer.concat(out).length).toBeGreaterThan(200 * 1024);
});
