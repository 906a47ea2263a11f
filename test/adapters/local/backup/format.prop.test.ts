/** The headers of a backup: decoding accepts exactly what encoding produces. */
import { Readable } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type BackupEntry,
  BLOCK,
  decodeEntry,
  END,
  encodeEntry,
  modifiedOf,
} from "../../../../adapters/local/backup/format.ts";
import { type BackupVisitor, BadBackup, readBackup } from "../../../../adapters/local/backup/read-backup.ts";
import { forgeBackup } from "../../../support/crashes/forged-backup.ts";
import { runs } from "../../../support/vitest/runs.ts";

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

test("decodes what it has encoded", () => {
  fc.assert(
    fc.property(entry, (one) => {
      expect(decodeEntry(encodeEntry(one))).toEqual(one);
    }),
  );
});

const content = fc.string({ unit: "binary", maxLength: 1500 });
const backup = fc.array(fc.tuple(entry, content), { maxLength: 4 }).map((entries) =>
  forgeBackup({
    entries: entries.map(([{ size: _size, ...one }, text]) => (one.type === "file" ? { ...one, content: text } : one)),
  }),
);

/** Everything that a restore reads from the bytes; undefined if they are refused. */
const readAll = async (bytes: Buffer): Promise<unknown> => {
  const seen: unknown[] = [];
  const entry: BackupVisitor["entry"] = async (one, pieces) =>
    void seen.push(one, Buffer.concat(await Array.fromAsync(pieces)));
  try {
    await readBackup(Readable.from([bytes]), { begin: (head) => void seen.push(head), entry });
    return seen;
  } catch (error) {
    expect(error).toBeInstanceOf(BadBackup);
    return undefined;
  }
};

/** The start of the last entry. The digest covers everything before it. */
const endOf = (bytes: Buffer): number => {
  const path = bytes.lastIndexOf(`path=${END}\n`);
  return path - (path % BLOCK) - BLOCK;
};

test("refuses a backup with a changed byte before its end, and ignores a changed byte in its end's padding", async () => {
  await fc.assert(
    fc.asyncProperty(backup, fc.nat(), fc.integer({ min: 1, max: 255 }), async (bytes, at, change) => {
      const index = at % bytes.length;
      const changed = Buffer.from(bytes);
      changed[index] = (changed[index] as number) ^ change;
      const whole = await readAll(bytes);
      expect(whole).toBeDefined();
      const read = await readAll(changed);
      // The end has counts and a time, and fills its last block.
      if (index < endOf(bytes) || read !== undefined) expect(read).toEqual(index < endOf(bytes) ? undefined : whole);
    }),
    runs(300),
  );
});

test("refuses a backup that is truncated, or continues after its end", async () => {
  await fc.assert(
    fc.asyncProperty(backup, fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 600 }), async (bytes, at, more) => {
      expect(await readAll(bytes.subarray(0, at % bytes.length))).toBeUndefined();
      expect(await readAll(Buffer.concat([bytes, more]))).toBeUndefined();
    }),
    runs(200),
  );
});

test.each(["", "/etc/passwd", "a//b", "../a", "a/..", "a/./b", ".", "..", "a/", "a\0b"])(
  "refuses the path %j",
  (bad) => {
    const file: BackupEntry = { path: bad, type: "file", size: 0, mode: 0, uid: 0, gid: 0, modified: 0, target: "" };
    expect(decodeEntry(encodeEntry(file))).toBeUndefined();
  },
);
