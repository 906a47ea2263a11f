/** Every supported function has the semantics of GoogleSQL, as its example shows them. */
import type { DuckDBConnection } from "@duckdb/node-api";
import { beforeAll, expect, test } from "vitest";
import { toTrino } from "../../../../adapters/aws/sql/trino/translate.ts";
import { openDatabase } from "../../../../adapters/shared/sql/database.ts";
import { describeStatement, translateStatement } from "../../../../adapters/shared/sql/googlesql/translate.ts";
import { sqlFunctionNames, sqlFunctions } from "../../../../core/domain/sql/functions.ts";
import { exampleStatement, rowsOf } from "../../../support/sql/sql.ts";

let connection: DuckDBConnection;
beforeAll(async () => {
  connection = await openDatabase(undefined);
});

const answer = async (statement: string): Promise<unknown> => {
  const { rows, failure } = await rowsOf(connection, statement, { rows: 10, bytes: 1000 });
  return failure ?? rows[0]?.[0];
};

test.each(sqlFunctions.map((one) => [one.name, one] as const))("%s", async (_name, one) => {
  expect(await answer(exampleStatement(one))).toEqual(one.answer);
});

test("the list has no duplicates", () => expect(sqlFunctions).toHaveLength(sqlFunctionNames.size));

const time = "TIMESTAMP '2026-02-01 23:59:59.999999+00'";
const finer: Readonly<Record<string, unknown>> = {
  // A Sunday, the first day of GoogleSQL's weeks.
  [`TIMESTAMP_TRUNC(${time}, WEEK)`]: "2026-02-01T00:00:00+00:00",
  [`TIMESTAMP_TRUNC(${time}, ISOWEEK)`]: "2026-01-26T00:00:00+00:00",
  [`TIMESTAMP_TRUNC(${time}, DAY)`]: "2026-02-01T00:00:00+00:00",
  [`EXTRACT(DAYOFWEEK FROM ${time})`]: 1,
  [`EXTRACT(DATE FROM ${time})`]: "2026-02-01",
  [`EXTRACT(MILLISECOND FROM ${time})`]: 999,
  [`EXTRACT(SECOND FROM ${time})`]: 59,
  [`EXTRACT(ISOWEEK FROM ${time})`]: 5,
  [`UNIX_SECONDS(${time})`]: 1769990399,
  [`TIMESTAMP_DIFF(TIMESTAMP '2026-01-01 00:00:00+00', ${time}, DAY)`]: -31,
  "CAST('2026-01-31 00:00:00+00' AS TIMESTAMP)": "2026-01-31T00:00:00+00:00",
  "SAFE_CAST('no time' AS TIMESTAMP)": null,
  "REGEXP_EXTRACT('order 12', r'\\d+')": "12",
  "REGEXP_EXTRACT('order 12', r'(?i)ORDER (\\d)')": "1",
  "REGEXP_EXTRACT('x', r'y')": null,
  "REGEXP_REPLACE('a1', r'(\\d)', r'<\\1>')": "a<1>",
  "JSON_VALUE(PARSE_JSON('{\"a\":null}'), '$.a')": null,
  "JSON_VALUE('{\"a\":true}', '$.a')": "true",
  "MOD(1 + 6, 2 + 2)": 3,
  "CAST(9007199254740993 AS INT64)": "9007199254740993",
  "CAST('inf' AS FLOAT64)": "Infinity",
  "b'abc'": "YWJj",
  "b'\\x41\\n\\101'": "QQpB",
  "rb'\\d'": "XGQ=",
  'BR"a"': "YQ==",
  "b'\u00e9'": "w6k=",
  "'\\u00e9'": "\u00e9",
  "'\\U0001F600'": "\u{1F600}",
  "'\\X41\\x42\\103'": "ABC",
  "'\\`\\?\\a\\v'": "`?\u0007\v",
  "'\\\\d \\' \\n\\r\\t'": "\\d ' \n\r\t",
  "'''it's\n\\u00e9'''": "it's\n\u00e9",
  "REGEXP_CONTAINS('a1', '\\\\d')": true,
  "SAFE_DIVIDE(1, 0)": null,
  "[STRUCT(1 AS a)]": [{ a: 1 }],
  "IF('a' IN UNNEST(['a', 'b']), 1, 2)": 1,
  "CASE WHEN 'abc' LIKE 'a%' THEN 1 END": 1,
  "7 / 2": 3.5,
  "'a' || 'b'": "ab",
};

test.each(Object.entries(finer))("%s", async (expression, value) => {
  expect(await answer(`SELECT ${expression} AS v`)).toEqual(value);
});

/** Engines that run statements on a cloud, and those that only describe them, reject it with the same message. */
const refuses = (statement: string, words: RegExp): void => {
  for (const read of [translateStatement, describeStatement, (text: string) => toTrino(text, {}, [])])
    expect(() => read(statement)).toThrow(words);
};

test.each([
  ["'a\\d'", /line 1, column 10: illegal escape sequence '\\d'/],
  ["'\\xZZ'", /illegal escape sequence '\\x'/],
  ["'a' 'b'", /line 1, column 12: two literals are adjacent/],
])("rejects the literal %s", (literal, words) => refuses(`SELECT ${literal} AS v`, words));

test.each([
  "SELECT 1 AS v FROM logs WHERE json_payload.level = 'error'",
  "SELECT 1 AS v FROM logs AS l WHERE 'error' != l.json_payload.level",
  "SELECT 1 AS v FROM logs WHERE json_payload['a'] IN ('x', 'y')",
  "SELECT 1 AS v FROM logs WHERE (http_request) LIKE '%GET%'",
  "SELECT 1 AS v FROM logs WHERE resource.labels.service_name = 'app'",
  "SELECT PARSE_JSON('\"a\"') = 'a' AS v",
  "SELECT CASE JSON_QUERY(json_payload, '$.a') WHEN 'x' THEN 1 END AS v FROM logs",
  "WITH a AS (SELECT json_payload.level AS l FROM logs), b AS (SELECT l AS m FROM a) SELECT 1 AS v FROM b WHERE b.m < 'x'",
  "WITH a AS (SELECT json_payload.level FROM logs) SELECT 1 AS v FROM a WHERE level BETWEEN 'a' AND 'b'",
])("rejects a comparison of JSON: %s", (statement) => refuses(statement, /JSON cannot be compared.*JSON_VALUE/));

test.each([
  "SELECT COUNT(*) AS v FROM logs WHERE JSON_VALUE(json_payload.level) = 'error' AND json_payload.level IS NOT NULL",
  "WITH a AS (SELECT JSON_VALUE(json_payload, '$.a') AS json_payload FROM logs) SELECT COUNT(*) AS v FROM a WHERE json_payload = 'x'",
  "SELECT COUNT(*) AS v FROM (SELECT JSON_QUERY(json_payload, '$.a') AS text_payload FROM logs) AS a, logs AS b WHERE b.text_payload = 'x'",
  "WITH l AS (SELECT severity AS s FROM logs), m AS (SELECT json_payload AS l FROM logs) SELECT COUNT(*) AS v FROM l WHERE l.s = 'x'",
])("accepts a comparison without JSON: %s", async (statement) => {
  expect(await answer(statement)).toBe(0);
});

test("quantiles are exact", async () => {
  const numbers = "UNNEST([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) AS x";
  expect(await answer(`SELECT APPROX_QUANTILES(x, 10)[OFFSET(9)] AS v FROM ${numbers}`)).toBe(9);
  expect(await answer(`SELECT APPROX_QUANTILES(x, 2)[OFFSET(1)] AS v FROM ${numbers}`)).toBe(5);
});
