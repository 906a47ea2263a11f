/** Every decision follows one template, so that a reader finds its status and its reason in the same place. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";

const FOLDER = "docs/decisions";
const HEADINGS = ["Context", "Decision", "Consequences"];

const files = globSync(`${FOLDER}/[0-9]*.md`).map((path) => basename(path));
const textOf = (file: string): string => readFileSync(join(FOLDER, file), "utf8");
const index = textOf("README.md");

/** Returns the headings of level 2 with the text below each. */
const sectionsOf = (text: string): readonly (readonly [heading: string, body: string])[] =>
  text
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const end = section.indexOf("\n");
      return [section.slice(0, end), section.slice(end).trim()];
    });

/** Returns every rule of the template that the decision breaks. */
const problemsOf = (file: string, text: string): readonly string[] => {
  const [, title, number, date, status, newer] =
    /^# ((\d+)\. \S.*)\n\n- \*\*Date:\*\* (\S+)\n- \*\*Status:\*\* (accepted|superseded by \[\d{4}\]\((\d{4}-.+\.md)\))\n\n## /.exec(
      text,
    ) ?? [];
  if (title === undefined || date === undefined || status === undefined)
    return [
      "begins with '# NUMBER. TITLE', then '- **Date:** YYYY-MM-DD', then '- **Status:** accepted' (or superseded)",
    ];
  const sections = sectionsOf(text);
  const headings = sections.map(([heading]) => heading);
  const rules: readonly (readonly [isBroken: boolean, rule: string])[] = [
    [!/^\d{4}-[a-z0-9-]+\.md$/.test(file), "the file is named NNNN-words.md"],
    [Number(number) !== Number(file.slice(0, 4)), "the title has the file's number"],
    [!/^\d{4}-\d\d-\d\d$/.test(date), "the date is YYYY-MM-DD"],
    [newer !== undefined && !existsSync(join(FOLDER, newer)), "the newer decision exists"],
    [headings.join() !== HEADINGS.join(), `the headings are ${HEADINGS.join(", ")}`],
    [sections.some(([, body]) => body === ""), "no section is empty"],
    [!index.includes(`[${title.replace(/^\d+\. /, "")}](${file})`), "the index lists its title"],
  ];
  return rules.filter(([isBroken]) => isBroken).map(([, rule]) => rule);
};

test.each(files)("%s follows the template", (file) => {
  expect(problemsOf(file, textOf(file))).toEqual([]);
});

test("no two decisions have the same number", () => {
  expect(files.length).toBeGreaterThan(25);
  expect(new Set(files.map((file) => file.slice(0, 4))).size).toBe(files.length);
});

describe("a decision that does not follow the template", () => {
  const file = "0001-one-package.md";
  const right = textOf(file);
  const swapped = (heading: string): string => (heading === "## Context" ? "## Decision" : "## Context");

  test.each([
    ["a title without a number", right.replace("# 1. ", "# "), /^begins with/],
    ["no date", right.replace(/- \*\*Date.*\n/, ""), /^begins with/],
    ["an unknown status", right.replace("accepted", "probably"), /^begins with/],
    ["another number", right.replace("# 1. ", "# 2. "), /file's number/],
    ["a date as text", right.replace(/Date:\*\* \S+/, "Date:** yesterday"), /YYYY-MM-DD/],
    ["a newer decision that does not exist", right.replace("accepted", "superseded by [9999](9999-none.md)"), /newer/],
    ["headings in a different order", right.replace(/## (Context|Decision)/g, swapped), /the headings are/],
    ["another heading", right.replace("## Context", "## Why"), /the headings are/],
    ["an additional heading", `${right}\n## Notes\n\nText.\n`, /the headings are/],
    ["an empty section", right.replace(/## Consequences[\s\S]*/, "## Consequences\n"), /empty/],
    ["a title that the index does not list", right.replace("One package", "Two packages"), /index/],
  ])("is found: %s", (_, text, problem) => {
    expect(text).not.toBe(right);
    expect(problemsOf(file, text)).toEqual([expect.stringMatching(problem)]);
  });

  test("is found: a file name without a number", () => {
    expect(problemsOf("one-package.md", right)).toContain("the file is named NNNN-words.md");
  });

  test("a superseded decision names the newer one", () => {
    const newer = "superseded by [0002](0002-time-is-nanoseconds.md)";
    expect(problemsOf(file, right.replace("accepted", newer))).toEqual([]);
  });
});
