/**
 * Any archive of permitted entries is accepted and unpacks to exactly its files. One bad entry anywhere is rejected.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  badEntry,
  entriesOf,
  packed,
  packing,
  type SourceTree,
  sourceTree,
} from "../../../support/archives/source-archives.ts";
import { unpack } from "../../../support/archives/unpacking.ts";
import { walkArchive } from "../../../support/archives/walking.ts";
import { runs, within } from "../../../support/vitest/runs.ts";

const piece = fc.integer({ min: 1, max: 5000 });

const contents = (tree: SourceTree): Record<string, string> =>
  Object.fromEntries(tree.files.map(({ path, content }) => [path, content.toString("base64")]));

test(
  "accepts any archive of permitted entries, which unpacks to exactly its files",
  async () => {
    let long = 0;
    let executable = 0;
    const property = fc.asyncProperty(sourceTree(), packing(), piece, async (tree, how, size) => {
      const archive = packed(entriesOf(tree, how));
      expect(await walkArchive(archive, { piece: size })).toBeUndefined();
      const { files, folders, outside, problem } = await unpack(archive, size);
      expect(problem).toBeUndefined();
      expect(outside).toEqual([]);
      const found = Object.entries(files).map(([path, { content }]) => [path, content.toString("base64")]);
      expect(Object.fromEntries(found)).toEqual(contents(tree));
      expect(Object.keys(folders)).toEqual(expect.arrayContaining([...tree.folders]));
      for (const file of tree.files) expect(files[file.path]?.mode).toBe(file.executable ? 0o755 : 0o644);
      long += tree.files.filter(({ path }) => path.length > 99).length;
      executable += tree.files.filter((file) => file.executable).length;
    });
    await fc.assert(property, runs(120));
    // The generator produces such cases.
    expect(long).toBeGreaterThan(20);
    expect(executable).toBeGreaterThan(20);
  },
  within(),
);

test(
  "rejects and names a single bad entry at any position",
  async () => {
    const property = fc.asyncProperty(
      sourceTree(),
      packing(),
      badEntry(),
      fc.nat(),
      piece,
      async (tree, how, bad, at, size) => {
        const entries = entriesOf(tree, how);
        entries.splice(at % (entries.length + 1), 0, bad);
        const words = await walkArchive(packed(entries), { piece: size });
        expect(words).toMatch(/^is rejected: entry ".*(bad|d\/d\/d\/).*/);
      },
    );
    await fc.assert(property, runs(300));
  },
  within(),
);
