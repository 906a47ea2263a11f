/** The headers of a backup: whatever is written is read again, and nothing else is. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type BackupEntry, decodeEntry, encodeEntry, modifiedOf } from "../../../../adapters/local/backup/format.ts";

const name = fc
  .uint8Array({ minLength: 1, maxLength: 255 })
  .map((bytes) => Buffer.from(bytes).toString("latin1").replaceAll(/[\0/]/g, "_"))
  .filter((text) => text !== "." && text !== "..");
const path = fc.array(name, { minLength: 1, maxLength: 8 }).map((names) => names.join("/"));
const number = fc.oneof(fc.nat(), fc.maxSafeNat());
const common = { path, mode: fc.nat(0o777), uid: number, gid: number, modified: fc.double().map(modifiedOf) };

const entry = fc.oneof(
  fc.record({ ...common, type: fc.constant("file" as const), size: number, target: fc.constant("") }),
  fc.record({ ...common, type: fc.constant("folder" as const), size: fc.constant(0), target: fc.constant("") }),
  fc.record({ ...common, type: fc.constant("link" as const), size: fc.constant(0), target: path }),
);

test("reads what it has written", () => {
  fc.assert(
    fc.property(entry, (one) => {
      expect(decodeEntry(encodeEntry(one))).toEqual(one);
    }),
  );
});

test("reads no header with another byte", () => {
  fc.assert(
    fc.property(entry, fc.nat(), fc.integer({ min: 1, max: 255 }), (one, at, change) => {
      const bytes = encodeEntry(one);
      const index = at % bytes.length;
      bytes[index] = (bytes[index] as number) ^ change;
      const read = decodeEntry(bytes);
      // A change can give another valid header, but never one that is read as something else than it says.
      if (read !== undefined) expect(encodeEntry(read)).toEqual(bytes);
    }),
  );
});

test.each(["", "/etc/passwd", "a//b", "../a", "a/..", "a/./b", ".", "..", "a/", "a\0b"])(
  "refuses the path %j",
  (bad) => {
    const file: BackupEntry = { path: bad, type: "file", size: 0, mode: 0, uid: 0, gid: 0, modified: 0, target: "" };
    expect(decodeEntry(encodeEntry(file))).toBeUndefined();
  },
);
