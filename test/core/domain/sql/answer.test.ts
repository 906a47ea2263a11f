/** Rows of a response: objects with the names of the columns as keys, for any names. */
import { expect, test } from "vitest";
import { rowObjects, type SqlResponse, sqlRowsSchema } from "../../../../core/domain/sql/answer.ts";

const column = (name: string) => ({ name, type: "STRING" });

test("each row is an object keyed by column name", () => {
  const columns = [column("a"), column("b")];
  const rows: SqlResponse["rows"] = [
    ["x", null],
    [1, ["y", { z: true }]],
  ];
  const objects = rowObjects({ columns, rows });
  expect(objects).toEqual([
    { a: "x", b: null },
    { a: 1, b: ["y", { z: true }] },
  ]);
  expect(sqlRowsSchema.parse(objects)).toEqual(objects);
  expect(rowObjects({ columns, rows: [] })).toEqual([]);
});

test("a column may be named like a property of Object.prototype", () => {
  const [row] = rowObjects({ columns: [column("__proto__"), column("toString")], rows: [["x", "y"]] });
  expect(Object.entries(row ?? {})).toEqual([
    ["__proto__", "x"],
    ["toString", "y"],
  ]);
});
