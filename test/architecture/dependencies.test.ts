/** Every dependency has a row with a reason on docs/dependencies.md, and every row is about a dependency. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const page = readFileSync("docs/dependencies.md", "utf8");
const { dependencies, peerDependencies, devDependencies } = JSON.parse(
  readFileSync("package.json", "utf8"),
) as Readonly<Record<string, Readonly<Record<string, string>>>>;

const rows = page
  .split("\n")
  .filter((line) => line.startsWith("| ") && !/^\| (package|-)/.test(line))
  .map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

test("the rows are the packages, in order", () => {
  expect(rows.map(([name]) => name)).toEqual([
    ...Object.keys(dependencies ?? {}),
    ...Object.keys(peerDependencies ?? {}),
  ]);
});

test.each(rows)("%s: purpose, reason, license and tested version", (name, what, why, licence, version, date) => {
  for (const words of [what, why]) expect((words as string).length).toBeGreaterThan(2);
  expect(licence).toMatch(/^(MIT|ISC|Apache-2\.0|BSD-[23]-Clause|BlueOak-1\.0\.0|0BSD)$/);
  expect(version).toBe(dependencies?.[name as string] ?? devDependencies?.[name as string]);
  expect(date).toMatch(/^\d{4}-\d\d-\d\d$/);
});
