/** Without its packages a provider says that it has no SQL, and how to get it. */
import { expect, test } from "vitest";
import { sqlQueries } from "../../../../adapters/shared/sql/installed.ts";

test("with both packages SQL is offered", () => expect(sqlQueries(() => true)).toMatchObject({ supported: true }));

test("what is missing is named, with the command that installs it", () => {
  expect(sqlQueries((name) => name !== "@duckdb/node-api")).toEqual({
    supported: false,
    reason: "@duckdb/node-api is not installed: npm install @duckdb/node-api",
  });
  expect(sqlQueries(() => false)).toMatchObject({
    reason: expect.stringContaining("npm install @duckdb/node-api @polyglot-sql/sdk"),
  });
});
