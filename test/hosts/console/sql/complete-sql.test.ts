/** The completion of SQL. */
import { expect, test } from "vitest";
import { sqlTables } from "../../../../core/domain/sql/tables.ts";
import { completeSql, fieldsOf } from "../../../../hosts/console/sql/complete-sql.ts";

const schema = { tables: sqlTables };

/** The labels that start with the word before the cursor, which is at `|`. */
const labels = (marked: string, isExplicit = false): readonly string[] | undefined => {
  const position = marked.indexOf("|");
  const text = marked.replace("|", "");
  const found = completeSql({ text, position, isExplicit }, schema);
  const word = text.slice(found?.from, position).toLowerCase();
  return found?.options.map(({ label }) => label).filter((label) => label.toLowerCase().startsWith(word));
};

test.each([
  ["SELECT * FROM l|", ["logs"]],
  ["SELECT * FROM |", ["logs", "billing"], true],
  ["SELECT sev| FROM logs", ["severity"]],
  ["SELECT curr| FROM logs", ["CURRENT_TIMESTAMP", "CURRENT_DATE"]],
  ["SELECT curr| FROM billing", ["currency", "CURRENT_TIMESTAMP", "CURRENT_DATE"]],
  ["SELECT resource.| FROM logs", ["type", "labels"]],
  ["SELECT billing.usa| FROM billing", ["usage_start_time", "usage_end_time", "usage"]],
  ["SELECT countif| FROM logs", ["COUNTIF"]],
  ["SELECT 1 UNION|", ["UNION ALL", "UNION DISTINCT"]],
])("completes %s", (text, expected, isExplicit = false) => {
  expect(labels(text, isExplicit)).toEqual(expected);
});

test.each(["SELECT 'sev|", "SELECT 1 -- sev|", 'SELECT "a\\"sev|', "SELECT /* sev|", "SELECT 1 |"])(
  "proposes nothing in %s",
  (text) => {
    expect(labels(text)).toBeUndefined();
  },
);

test("completes after strings and comments", () => {
  expect(labels("SELECT 'it\\'s' -- don't\n, sev| FROM logs")).toEqual(["severity"]);
});

test("reads the fields of a struct", () => {
  expect(fieldsOf("STRUCT<a ARRAY<STRUCT<b INT64, c INT64>>, d STRING>")).toEqual([
    { name: "a", type: "ARRAY<STRUCT<b INT64, c INT64>>" },
    { name: "d", type: "STRING" },
  ]);
  expect(fieldsOf("INT64")).toEqual([]);
});
