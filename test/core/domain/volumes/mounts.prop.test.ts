/** Mount declarations: reading is the inverse of writing, and nesting is what pairwise comparison says. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { readMounts, renderMounts } from "../../../../core/domain/volumes/mounts.ts";
import { mountDeclaration, mountPath, mounts, nastyString } from "../../../arbitraries/index.ts";
import { runs } from "../../../support/vitest/runs.ts";

test("a declaration is read as the mounts that it declares, in either form and any order", () => {
  fc.assert(
    fc.property(mountDeclaration(), ({ declaration, mounts: expected }) => {
      expect(readMounts(declaration)).toEqual({ mounts: expected, issues: [] });
    }),
    runs(500),
  );
});

test("the object form is read back", () => {
  fc.assert(
    fc.property(mounts(), (all) => {
      const wire = JSON.parse(JSON.stringify(renderMounts(all)));
      expect(readMounts(wire).mounts).toEqual(all);
    }),
    runs(500),
  );
});

test("exactly the paths inside another are refused", () => {
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

test("whatever a client sends, it is read or refused with a reason, never thrown at", () => {
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
