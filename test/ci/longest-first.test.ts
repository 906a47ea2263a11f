/** The longest files of each project start first. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { TestSpecification, Vitest } from "vitest/node";
import { LongestFirst, longest } from "../support/vitest/longest-first.ts";

const specification = (project: string, path: string): TestSpecification =>
  ({
    moduleId: join(process.cwd(), path),
    project: { name: project, config: { sequence: { groupOrder: 0 } } },
  }) as TestSpecification;

test("every listed file exists", () => {
  expect(longest.filter((path) => !existsSync(path))).toEqual([]);
});

test("the longest files of each project start first, and the files of a project stay together", async () => {
  const [long = "", other = ""] = longest;
  const context = { cache: { getTestSpecificationResult: () => undefined } } as unknown as Vitest;
  const files = [
    specification("a", "README.md"),
    specification("a", other),
    specification("a", long),
    specification("b", "package.json"),
    specification("b", long),
  ];
  const sorted = await new LongestFirst(context).sort(files.toReversed());
  expect(sorted).toEqual([files[2], files[1], files[0], files[4], files[3]]);
});
