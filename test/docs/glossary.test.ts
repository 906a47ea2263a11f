/** The glossary is a reference list: sorted, short, and with one definition per term. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const definitionsIn = (page: string): readonly (readonly [term: string, definition: string])[] =>
  page
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const end = section.indexOf("\n");
      return [section.slice(0, end), section.slice(end).trim()];
    });

const sentencesIn = (definition: string): number => [...definition.matchAll(/[.](?=\s|$)/g)].length;

/** Returns the terms that break a rule of the list. */
const problemsIn = (page: string): readonly string[] => {
  const definitions = definitionsIn(page);
  const terms = definitions.map(([term]) => term.toLowerCase());
  return [
    ...terms.filter((term, at) => at > 0 && term <= (terms[at - 1] as string)).map((term) => `${term}: not in order`),
    ...definitions
      .filter(([, text]) => sentencesIn(text) < 1 || sentencesIn(text) > 2)
      .map(([term]) => `${term.toLowerCase()}: not one or two sentences`),
  ];
};

const glossary = readFileSync("docs/glossary.md", "utf8");

test("the terms are sorted, unique, and short", () => {
  expect(definitionsIn(glossary).length).toBeGreaterThan(40);
  expect(problemsIn(glossary)).toEqual([]);
});

test("a term that is out of order, repeated, empty or long is found", () => {
  const page = (...sections: readonly string[]): string => ["# Glossary", ...sections, ""].join("\n\n");
  expect(problemsIn(page("## B", "One.", "## A", "One."))).toEqual(["a: not in order"]);
  expect(problemsIn(page("## A", "One.", "## A", "Two."))).toEqual(["a: not in order"]);
  expect(problemsIn(page("## A", "## B", "One."))).toEqual(["a: not one or two sentences"]);
  expect(problemsIn(page("## A", "One. Two. Three."))).toEqual(["a: not one or two sentences"]);
});
