/** Every form of a statement sees the account's rows, on every cloud. */
import { expect, test } from "vitest";
import type { SqlValue } from "../../core/domain/sql/answer.ts";

export const COUNT_LOGS = "SELECT COUNT(*) AS n FROM logs";

/** @param rowsOf runs a statement for an account that has logged two lines */
export const statementTests = (rowsOf: (statement: string) => Promise<readonly (readonly SqlValue[])[]>): void => {
  test.each([
    COUNT_LOGS,
    "WITH a AS (SELECT text_payload AS t FROM logs) SELECT COUNT(*) AS n FROM a",
    "-- a comment\nSELECT COUNT(*) AS n FROM logs -- and one after it",
    "(SELECT COUNT(*) AS n FROM logs)",
    "SELECT COUNT(*) AS n FROM (WITH logs AS (SELECT * FROM logs) SELECT * FROM logs)",
    "SELECT n FROM (SELECT COUNT(*) AS n FROM LOGS);",
  ])("a statement sees its account's rows in every form: %s", async (statement) =>
    expect(await rowsOf(statement)).toEqual([[2]]),
  );
};
