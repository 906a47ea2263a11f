/** `docs/reference/errors.md` and the code's tables are equal in both directions. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { deployReasons } from "../../core/domain/deploy/reason.ts";
import { issueTypes } from "../../core/domain/wire/issue.ts";
import { type ErrorKind, errorKinds } from "../../core/errors.ts";
import { statusOfKind } from "../../hosts/http/error-response.ts";

const page = readFileSync(new URL("../../docs/reference/errors.md", import.meta.url), "utf8");

/** The rows of the table under a heading as lists of cells, without backticks. */
const rowsUnder = (markdown: string, heading: string): string[][] => {
  const section = markdown.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  const [, , ...rows] = section.split("\n").filter((line) => line.startsWith("|"));
  return rows.map((row) =>
    row
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim().replace(/^`(.*)`$/, "$1")),
  );
};

interface Table {
  readonly heading: string;
  /** The code's text for each error, in the order of the page's columns. */
  readonly rows: readonly (readonly string[])[];
  /** Columns that only the page has. They must not be empty. */
  readonly words: number;
}

const tables: readonly Table[] = [
  {
    heading: "Error kinds",
    rows: (Object.keys(errorKinds) as ErrorKind[]).map((kind) => {
      const { retryable, meaning } = errorKinds[kind];
      return [kind, String(statusOfKind[kind]), retryable ? "yes" : "no", meaning];
    }),
    words: 1,
  },
  { heading: "Deploy reasons", rows: Object.entries(deployReasons), words: 1 },
  { heading: "Validation types", rows: issueTypes.map((type) => [type]), words: 2 },
];

/** The differences between page and code as messages. */
const differences = (markdown: string, { heading, rows, words }: Table): string[] => {
  const documented = rowsUnder(markdown, heading);
  const onPage = documented.map((cells) => cells.slice(0, cells.length - words).join(" | "));
  const inCode = rows.map((cells) => cells.join(" | "));
  return [
    ...inCode.filter((row) => !onPage.includes(row)).map((row) => `not on the page: ${row}`),
    ...onPage.filter((row) => !inCode.includes(row)).map((row) => `not in the code: ${row}`),
    ...(new Set(onPage).size < onPage.length ? ["a row is repeated"] : []),
    ...documented
      .filter((cells) => cells.slice(-words).some((cell) => !/\.$/.test(cell)))
      .map(([word]) => `no sentence for ${word}`),
  ];
};

describe.each(tables)("$heading", (table) => {
  test("page and code are equal", () => expect(differences(page, table)).toEqual([]));

  test("in the same order", () => {
    expect(rowsUnder(page, table.heading).map(([word]) => word)).toEqual(table.rows.map(([word]) => word));
  });

  test("the comparison finds a missing, an unknown, a repeated and an empty row", () => {
    const [first = ""] = table.rows.map(([word]) => word);
    const line =
      page
        .split("\n")
        .find((one) => one.startsWith(`| \`${first}\` |`) && page.indexOf(one) > page.indexOf(`## ${table.heading}`)) ??
      "";
    expect(line).not.toBe("");
    const drifted = (to: string) => differences(page.replace(`${line}\n`, to), table);
    expect(drifted("")).toEqual([expect.stringContaining(`not on the page: ${first}`)]);
    expect(drifted(`${line}\n${line.replace(first, "invented")}\n`)).toEqual([
      expect.stringContaining("not in the code: invented"),
    ]);
    expect(drifted(`${line}\n${line}\n`)).toEqual(["a row is repeated"]);
    expect(drifted(`${line.replace(/[^|]*\|$/, " |")}\n`)).toEqual([`no sentence for ${first}`]);
  });
});

test("finds a changed status", () => {
  const [kinds] = tables;
  if (kinds === undefined) throw new Error("finds tables");
  expect(differences(page.replace("| 401 |", "| 403 |"), kinds)).toHaveLength(2);
});
