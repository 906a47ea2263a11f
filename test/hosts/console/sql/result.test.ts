/** The result of a statement, its problem, and saved queries. */
import { expect, test } from "vitest";
import { cellText, chartColumns, columnWidth, pointsOf } from "../../../../hosts/console/sql/result.ts";
import { SavedQueries } from "../../../../hosts/console/sql/saved-queries.ts";
import { sqlProblemOf } from "../../../../hosts/console/sql/sql-problem.ts";
import { memoryStorage } from "../../../support/console/storage.ts";

const column = (name: string, type: string) => ({ name, type });

test.each([
  [null, "NULL"],
  ["NULL", "NULL"],
  [0, "0"],
  [{ a: [1] }, '{"a":[1]}'],
  [false, "false"],
])("formats %j as %s", (value, text) => {
  expect(cellText(value)).toBe(text);
});

test("limits the width of a column", () => {
  expect(columnWidth(column("n", "INT64"), [{ n: 1 }])).toBe(7);
  expect(columnWidth(column("a", "STRING"), [{ a: "x".repeat(1000) }])).toBe(40);
});

test.each([
  [[column("day", "DATE"), column("n", "INT64")], { x: "day", y: "n" }],
  [[column("n", "INT64"), column("name", "STRING")], { x: "name", y: "n" }],
  [[column("a", "INT64"), column("b", "NUMERIC")], { x: "b", y: "a" }],
  [[column("n", "INT64")], { x: "n", y: "n" }],
  [[column("name", "STRING")], undefined],
])("chooses the columns of a chart: %j", (columns, expected) => {
  expect(chartColumns(columns)).toEqual(expected);
});

test("sorts points by time, and omits rows without a time", () => {
  const [time, n] = [column("t", "TIMESTAMP"), column("n", "NUMERIC")];
  const rows = [
    { t: "2026-01-02T00:00:00Z", n: "2.5" },
    { t: null, n: 3 },
    { t: "2026-01-01T00:00:00Z", n: null },
  ];
  expect(pointsOf({ columns: [time, n], rows }, time, n)).toEqual({
    xs: [1767225600, 1767312000],
    ys: [null, 2.5],
    labels: undefined,
  });
});

test("reads a time without a zone as UTC", () => {
  const [time, n] = [column("t", "DATETIME"), column("n", "INT64")];
  expect(pointsOf({ columns: [time, n], rows: [{ t: "2026-01-01T00:00:00", n: 1 }] }, time, n).xs).toEqual([
    1767225600,
  ]);
});

test("labels the points of a column without order", () => {
  const [name, n] = [column("a", "STRING"), column("n", "INT64")];
  const rows = [
    { a: "z", n: 1 },
    { a: null, n: "NaN" },
  ];
  expect(pointsOf({ columns: [name, n], rows }, name, n)).toEqual({ xs: [0, 1], ys: [1, null], labels: ["z", "NULL"] });
});

test.each([
  ["unknown table 'x' at line 2, column 6; the tables are logs and billing", 14],
  ["syntax error at line 9, column 99: end", 15],
  ["Referenced column not found", undefined],
])("finds the position of %j", (message, at) => {
  expect(sqlProblemOf([{ field: "query", message }], "SELECT 1\nFROM x")).toEqual({ message, at });
});

test("has no problem of the statement for other errors", () => {
  expect(sqlProblemOf([], "SELECT 1")).toBeUndefined();
});

test("saves queries by name, and reports a full storage", () => {
  let isFull = false;
  const storage = memoryStorage(() => isFull);
  const saved = new SavedQueries(storage, "key");
  expect(saved.save({ name: "b", query: "SELECT 2" })).toBe(true);
  expect(saved.save({ name: "a", query: "SELECT 1" })).toBe(true);
  expect(saved.save({ name: "b", query: "SELECT 3" })).toBe(true);
  expect(saved.list()).toEqual([
    { name: "a", query: "SELECT 1" },
    { name: "b", query: "SELECT 3" },
  ]);
  isFull = true;
  expect(saved.save({ name: "c", query: "SELECT 4" })).toBe(false);
  isFull = false;
  saved.remove("a");
  expect(new SavedQueries(storage, "key").list().map(({ name }) => name)).toEqual(["b"]);
  storage.setItem("key", "damaged");
  expect(saved.list()).toEqual([]);
});

test("refuses a query beyond the maximum, and keeps the others", () => {
  const saved = new SavedQueries(memoryStorage(), "key");
  for (let at = 0; at < 100; at++) expect(saved.save({ name: `query ${at}`, query: "SELECT 1" })).toBe(true);
  expect(saved.save({ name: "one more", query: "SELECT 1" })).toBe(false);
  expect(saved.list()).toHaveLength(100);
  expect(saved.save({ name: "query 0", query: "SELECT 2" })).toBe(true);
  expect(saved.list()).toHaveLength(100);
});
