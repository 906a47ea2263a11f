/** Without its packages, a provider reports that SQL is missing and how to install it. */
import { expect, test } from "vitest";
import { sqlQueries } from "../../../../../adapters/shared/sql/process/installed.ts";

const tested = { version: undefined };

test("supports SQL with both packages", () => {
  expect(sqlQueries()).toMatchObject({ supported: true });
  expect(sqlQueries(() => tested)).toMatchObject({ supported: true });
});

test("names missing packages, with the command that installs them", () => {
  expect(sqlQueries((name) => (name === "@duckdb/node-api" ? undefined : tested))).toEqual({
    supported: false,
    reason: "'@duckdb/node-api' is not installed: npm install @duckdb/node-api@1.5.6-r.1",
  });
  expect(sqlQueries(() => undefined)).toMatchObject({
    reason: expect.stringContaining("npm install @duckdb/node-api@1.5.6-r.1 @polyglot-sql/sdk@0.12.1"),
  });
});

test("names an unsupported version of the engine, and the supported one", () => {
  expect(sqlQueries((name) => ({ version: name === "@duckdb/node-api" ? "1.5.6" : "0.12.1" }))).toEqual({
    supported: false,
    reason: "'@duckdb/node-api' 1.5.6 is installed (required: 1.5.6-r.1): npm install @duckdb/node-api@1.5.6-r.1",
  });
});
