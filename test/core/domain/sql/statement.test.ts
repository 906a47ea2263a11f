/** Which statements may run, decided from their summaries. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { sqlFunctionNames } from "../../../../core/domain/sql/functions.ts";
import { columnProblems, type StatementSummary, statementProblems } from "../../../../core/domain/sql/statement.ts";

const plain: StatementSummary = {
  statements: 1,
  root: "SELECT",
  tables: [{ name: "logs", line: 1, column: 8 }],
  functions: [{ name: "COUNT" }],
  tableFunctions: [],
  others: [],
  unnamed: [],
};

const problems = (change: Partial<StatementSummary>): string[] =>
  statementProblems({ ...plain, ...change }).map(({ message }) => message);

test("accepts a SELECT over logs and billing with known functions", () => {
  expect(problems({})).toEqual([]);
  expect(problems({ tables: [{ name: "Billing" }, { name: "LOGS" }], functions: [{ name: "count" }] })).toEqual([]);
});

test("names all rejected parts together, with their positions", () => {
  const place = { line: 3, column: 7 };
  expect(
    problems({
      tables: [{ name: "main.logs", ...place }, { name: "secret" }],
      functions: [{ name: "REPEAT", ...place }],
      tableFunctions: [{ name: "READ_CSV", ...place }],
      others: [{ name: "WITH RECURSIVE", ...place }],
      unnamed: [2],
    }),
  ).toEqual([
    "unknown table 'main.logs' at line 3, column 7; the tables are logs and billing",
    "unknown table 'secret'; the tables are logs and billing",
    "the function REPEAT at line 3, column 7 is not supported; see docs/sql.md",
    "the table function READ_CSV at line 3, column 7 is not supported",
    "WITH RECURSIVE at line 3, column 7 is not supported",
    "column 2 of the result has no name; add one with ... AS name",
  ]);
});

test("accepts exactly one statement, a SELECT", () => {
  expect(problems({ statements: 2 })).toEqual(["must be exactly one statement; got 2"]);
  expect(problems({ statements: 0, root: "NOTHING" })).toEqual(["must be exactly one statement; got none"]);
  expect(problems({ root: "DELETE" })).toEqual(["only SELECT (or WITH ... SELECT) is allowed; this is DELETE"]);
});

test("rejects every other name, whatever else the statement has", () => {
  const name = fc.string({ minLength: 1 }).filter((one) => !/^(logs|billing)$/i.test(one));
  fc.assert(fc.property(name, (one) => problems({ tables: [...plain.tables, { name: one }] }).length === 1));
  const unknown = fc.string({ minLength: 1 }).filter((one) => !sqlFunctionNames.has(one.toUpperCase()));
  fc.assert(fc.property(unknown, (one) => problems({ functions: [...plain.functions, { name: one }] }).length === 1));
});

test("truncates a long list of issues", () => {
  const functions = Array.from({ length: 1000 }, (_, n) => ({ name: `F${n}` }));
  expect(problems({ functions })).toHaveLength(20);
});

test("columns need unique names", () => {
  expect(columnProblems(["a", "b"])).toEqual([]);
  expect(columnProblems(["a", "", "A"]).map(({ message }) => message)).toEqual([
    "column 2 of the result has no name; add one with ... AS name",
    "two columns of the result are named 'A'; rename one with ... AS name",
  ]);
});
