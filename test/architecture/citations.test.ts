/** Published text must not cite documents that are not published. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** Files whose comments are in the package's types, pages and examples. */
const shipped = globSync([
  "{core,adapters,hosts,test/contracts}/**/*.ts",
  "docs/**/*.{md,yaml}",
  "examples/*/*.{md,js,json}",
  "{README,CHANGELOG}.md",
]);

const CITATION = /\bcontract(?:,? section|'s [a-z]+ \(section)? \d/i;

test.each([
  ["(contract section 3)", true],
  ["the list of contract 4.1.", true],
  ["the contract's values (section 7)", true],
  ["every bound of the contract", false],
])("%j is a citation: %s", (text, isCitation) => {
  expect(CITATION.test(text)).toBe(isCitation);
});

test("no published file cites a section of the contract, which is not published", () => {
  expect(shipped.length).toBeGreaterThan(100);
  // A citation may span two lines of a comment.
  const citing = shipped.filter((file) => CITATION.test(readFileSync(file, "utf8").replace(/\s+(?:\* )?/g, " ")));
  expect(citing).toEqual([]);
});
