/** Mutation scores: the share of killed mutants, and the bound of each file. */
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { boundOf, excludedFiles, highBoundFiles } from "./bounds.ts";
import { fileScores, type Mutant, survivingMutants, totalScore } from "./score.ts";

const mutant = (fileName: string, status: string, line = 1): Mutant => ({
  fileName,
  status,
  mutatorName: "BooleanLiteral",
  replacement: "false",
  location: { start: { line, column: 1 } },
});

const mutants = [
  mutant("core/b.ts", "Killed"),
  mutant("core/b.ts", "Timeout"),
  mutant("core/a.ts", "Survived", 9),
  mutant("core/a.ts", "NoCoverage", 2),
  mutant("core/a.ts", "Killed"),
  mutant("core/a.ts", "Killed"),
  // This mutant could not be loaded.
  mutant("core/a.ts", "RuntimeError"),
];

test("a file's score is the share of killed mutants, and the lowest score comes first", () => {
  expect(fileScores(mutants)).toEqual([
    { file: "core/a.ts", killed: 2, timedOut: 0, survived: 1, uncovered: 1, score: 50 },
    { file: "core/b.ts", killed: 1, timedOut: 1, survived: 0, uncovered: 0, score: 100 },
  ]);
  expect(totalScore(mutants).score).toBeCloseTo(66.67, 2);
  expect(totalScore([]).score).toBe(100);
});

test("surviving mutants are in the order of their lines", () => {
  expect(survivingMutants(mutants).map(({ status, location }) => `${location.start.line} ${status}`)).toEqual([
    "2 NoCoverage",
    "9 Survived",
  ]);
});

test("every file with a higher bound exists, and the higher bound applies", () => {
  for (const file of [...highBoundFiles, ...excludedFiles]) expect(existsSync(file), file).toBe(true);
  for (const file of highBoundFiles) expect(boundOf(file)).toBeGreaterThan(boundOf("core/domain/wire/names.ts"));
});
