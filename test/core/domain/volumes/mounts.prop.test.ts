/** Mount declarations: parsing inverts formatting, and the nesting rule equals a pairwise comparison. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { readMounts, renderMounts } from "../../../../core/domain/volumes/mounts.ts";
import { mountDeclaration, mountPath, mounts, nastyString } from "../../../arbitraries/index.ts";
import { runs } from "../../../support/vitest/runs.ts";

test("parses either form, in any order, to the declared mounts", () => {
  fc.assert(
    fc.property(mountDeclaration(), ({ declaration, mounts: expected }) => {
      expect(readMounts(declaration)).toEqual({ mounts: expected, issues: [] });
    }),
    runs(500),
  );
});

test("the object form of mounts parses to the same mounts", () => {
  fc.assert(
    fc.property(mounts(), (all) => {
      const wire = JSON.parse(JSON.stringify(renderMounts(all)));
      expect(readMounts(wire).mounts).toEqual(all);
    }),
    runs(500),
  );
});

test("rejects exactly the paths inside another", () => {
  const family = fc
    .tuple(
      fc.uniqueArray(mountPath(), { minLength: 1, maxLength: 4 }),
      fc.array(fc.constantFrom("/x", "/x/y", "x", "-x")),
    )
    .map(([paths, tails]) => [
      ...new Set([...paths, ...tails.map((tail, index) => `${paths[index % paths.length]}${tail}`)]),
    ])
    .map((paths) => paths.slice(0, 10));
  fc.assert(
    fc.property(family, (paths) => {
      const inner = paths.filter((path) => paths.some((other) => path.startsWith(`${other}/`)));
      const { issues } = readMounts(Object.fromEntries(paths.map((path) => [path, "vol"])));
      expect(issues.map(({ path }) => path[0])).toEqual(inner);
    }),
    runs(500),
  );
});

test("accepts any input or rejects it with a reason, and never throws", () => {
  const anything = fc.oneof(fc.jsonValue(), fc.dictionary(nastyString(), fc.oneof(nastyString(), fc.jsonValue())));
  fc.assert(
    fc.property(anything, (raw) => {
      const { mounts: read, issues } = readMounts(raw);
      if (issues.length > 0) expect(read).toEqual([]);
      else expect(read).toHaveLength(Object.keys(raw as object).length);
      for (const { message } of issues) expect(message).not.toBe("");
    }),
    runs(500),
  );
});
