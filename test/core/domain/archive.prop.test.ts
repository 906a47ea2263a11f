/** Whatever is admitted stays inside its folder, and no archive gets past a limit however it is cut into entries. */
import { resolve } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type ArchiveEntry, type ArchiveUse, admitEntry, emptyArchive } from "../../../core/domain/archive.ts";
import { nastyString } from "../../arbitraries/index.ts";
import { runs } from "../../support/runs.ts";

const path = fc.oneof(
  nastyString(),
  fc
    .array(fc.constantFrom("..", ".", "", "a", "b", "...", "C:", "\\", "..\\", "/"), { maxLength: 8 })
    .map((parts) => parts.join("/")),
);

test("an admitted path, joined to a folder, is in that folder", () => {
  fc.assert(
    fc.property(path, (given) => {
      const verdict = admitEntry(emptyArchive, { path: given, type: "file", size: 0 });
      if ("problem" in verdict) return;
      const landed = resolve("/target", given);
      expect(landed === "/target" || landed.startsWith("/target/")).toBe(true);
      expect(resolve("/target", given.replaceAll("\\", "/"))).toBe(landed);
    }),
    runs(2000),
  );
});

const small = { fileBytes: 0, entries: 5, unpackedBytes: 20, entryBytes: 8, depth: 3, pathBytes: 12 };

const entry: fc.Arbitrary<ArchiveEntry> = fc.record({
  path: fc.constantFrom("a", "a/b", "a/b/c", "a/b/c/d", "abcdefghijkl", "abcdefghijklm", "éééééé", "ééééééé"),
  type: fc.constantFrom("file", "file", "file", "folder", "other"),
  size: fc.nat({ max: 9 }),
});

test("an archive is admitted exactly where every entry and every sum is within the limits", () => {
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 7 }), (entries) => {
      let use: ArchiveUse | undefined = emptyArchive;
      for (const one of entries) {
        if (use === undefined) break;
        const verdict: ReturnType<typeof admitEntry> = admitEntry(use, one, small);
        use = "use" in verdict ? verdict.use : undefined;
      }
      const each = entries.every(
        ({ path: name, type, size }) =>
          type !== "other" && size <= 8 && Buffer.byteLength(name) <= 12 && name.split("/").length <= 3,
      );
      const sum = entries.reduce((total, { size }) => total + size, 0);
      const fits = each && entries.length <= 5 && sum <= 20;
      expect(use).toEqual(fits ? { entries: entries.length, bytes: sum } : undefined);
    }),
    runs(1000),
  );
});
