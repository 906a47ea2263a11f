/** Without its packages a provider says that it has no SQL, and how to get it. */
import { expect, test } from "vitest";
import { sqlQueries } from "../../../../../adapters/shared/sql/process/installed.ts";

const tested = { version: undefined };

test("with both packages SQL is offered", () => {
  expect(sqlQueries()).toMatchObject({ supported: true });
  expect(sqlQueries(() => tested)).toMatchObject({ supported: true });
});

test("what is missing is named, with the command that installs it", () => {
  expect(sqlQueries((name) => (name === "@duckdb/node-api" ? undefined : tested))).toEqual({
    supported: false,
    reason: "'@duckdb/node-api' is not installed: npm install @duckdb/node-api@1.5.6-r.1",
  });
  expect(sqlQueries(() => undefined)).toMatchObject({
    reason: expect.stringContaining("npm install @duckdb/node-api@1.5.6-r.1 @polyglot-sql/sdk@0.12.1"),
  });
});

test("another version of the engine is named, and what works", () => {
  expect(sqlQueries((name) => ({ version: name === "@duckdb/node-api" ? "1.5.6" : "0.12.1" }))).toEqual({
    supported: false,
    reason: "'@duckdb/node-api' 1.5.6 is installed, and only 1.5.6-r.1 works: npm install @duckdb/node-api@1.5.6-r.1",
  });
});
