/** Finds uncovered branches in a report, and compares them with the table in docs/contributing/testing.md. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { differences, namedBranches, uncoveredBranches } from "./uncovered.ts";

const text = ["const a = b ? one() : two();", "if (a) stop();"].join("\n");
const at = (line: number, column: number) => ({ start: { line, column } });
const report = (choice: number[], condition: number[]) => ({
  path: "/anywhere/core/x.ts",
  b: { 0: choice, 1: condition },
  branchMap: {
    0: { loc: at(1, 10), locations: [at(1, 14), at(1, 22)] },
    // An implicit else has no location.
    1: { loc: at(2, 0), locations: [at(2, 0), { start: {} }] },
  },
});

test("finds an uncovered branch, and an implicit else by its if", () => {
  expect(uncoveredBranches(report([1, 0], [3, 0]), "core/x.ts", text)).toEqual([
    { file: "core/x.ts", line: 1, code: "two();" },
    { file: "core/x.ts", line: 2, code: "if (a) stop();" },
  ]);
  expect(uncoveredBranches(report([1, 2], [3, 4]), "core/x.ts", text)).toEqual([]);
});

test("each branch needs a row, and each row a branch", () => {
  const branches = uncoveredBranches(report([0, 1], [1, 1]), "core/x.ts", text);
  const rows = namedBranches("| `core/x.ts` | `one(` | because |\n| `core/y.ts` | `two(` | because |\n");
  expect(rows).toHaveLength(2);
  expect(differences(branches, rows)).toEqual(["core/y.ts: a test takes this branch, so remove its row: two("]);
  expect(differences(branches, [])).toEqual([
    "core/x.ts:1: no test takes this branch, and no reason is named: one() : two();",
  ]);
});

test("every row of docs/contributing/testing.md names existing code and a reason", () => {
  const rows = namedBranches(readFileSync("docs/contributing/testing.md", "utf8"));
  expect(rows.length).toBeGreaterThan(0);
  for (const { file, code, why } of rows) {
    expect(readFileSync(file, "utf8")).toContain(code);
    expect(why.length).toBeGreaterThan(20);
  }
});
