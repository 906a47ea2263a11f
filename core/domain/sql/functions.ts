/**
 * The functions that statements may use. Every provider rejects all others. Each function has an example with its
 * result. The docs show the examples, and a test runs them on every engine.
 */

export interface SqlFunction {
  readonly name: string;
  readonly group: "aggregate" | "window" | "condition" | "text" | "number" | "time" | "JSON" | "array" | "bytes";
  /** An expression that needs no table. `T` is a placeholder for `exampleTime`. */
  readonly example: string;
  /** The result, as JSON. */
  readonly answer: unknown;
}

/** The value of `T` in the examples. */
export const exampleTime = "TIMESTAMP '2026-01-31 09:08:07.654321+00:00'";

const document = `PARSE_JSON('{"a":"x","o":{"z":1},"l":["p","q"]}')`;

/** The name, the example and the result of each function, by group. */
const examples: Readonly<Record<SqlFunction["group"], readonly (readonly [string, string, unknown])[]>> = {
  aggregate: [
    ["COUNT", "COUNT(*)", 1],
    ["COUNTIF", "COUNTIF(TRUE)", 1],
    ["SUM", "SUM(CAST('0.1' AS NUMERIC))", "0.1"],
    ["AVG", "AVG(3)", 3],
    ["MIN", "MIN('a')", "a"],
    ["MAX", "MAX(2)", 2],
    ["ANY_VALUE", "ANY_VALUE('a')", "a"],
    ["ARRAY_AGG", "ARRAY_AGG('a')", ["a"]],
    ["STRING_AGG", "STRING_AGG('a', ',')", "a"],
    ["APPROX_COUNT_DISTINCT", "APPROX_COUNT_DISTINCT('a')", 1],
    ["APPROX_QUANTILES", "APPROX_QUANTILES(5, 100)[OFFSET(95)]", 5],
    ["LOGICAL_AND", "LOGICAL_AND(TRUE)", true],
    ["LOGICAL_OR", "LOGICAL_OR(FALSE)", false],
    ["STDDEV", "STDDEV(1)", null],
    ["STDDEV_POP", "STDDEV_POP(1)", 0],
    ["STDDEV_SAMP", "STDDEV_SAMP(1)", null],
    ["VARIANCE", "VARIANCE(1)", null],
  ],
  window: [
    ["ROW_NUMBER", "ROW_NUMBER() OVER (ORDER BY 1)", 1],
    ["RANK", "RANK() OVER (ORDER BY 1)", 1],
    ["DENSE_RANK", "DENSE_RANK() OVER (ORDER BY 1)", 1],
    ["PERCENT_RANK", "PERCENT_RANK() OVER (ORDER BY 1)", 0],
    ["CUME_DIST", "CUME_DIST() OVER (ORDER BY 1)", 1],
    ["NTILE", "NTILE(2) OVER (ORDER BY 1)", 1],
    ["LAG", "LAG(1) OVER (ORDER BY 1)", null],
    ["LEAD", "LEAD(1, 1, 7) OVER (ORDER BY 1)", 7],
    ["FIRST_VALUE", "FIRST_VALUE(3) OVER (ORDER BY 1)", 3],
    ["LAST_VALUE", "LAST_VALUE(3) OVER (ORDER BY 1)", 3],
    ["NTH_VALUE", "NTH_VALUE(3, 1) OVER (ORDER BY 1)", 3],
  ],
  condition: [
    ["IF", "IF(TRUE, 1, 2)", 1],
    ["IFNULL", "IFNULL(NULL, 'x')", "x"],
    ["COALESCE", "COALESCE(NULL, 'x', 'y')", "x"],
    ["NULLIF", "NULLIF(1, 1)", null],
    ["GREATEST", "GREATEST(1, 3, 2)", 3],
    ["LEAST", "LEAST(1, NULL)", null],
    ["CAST", "CAST('0.123456789' AS NUMERIC)", "0.123456789"],
    ["SAFE_CAST", "SAFE_CAST('x' AS INT64)", null],
    ["EXISTS", "EXISTS(SELECT 1)", true],
  ],
  text: [
    ["CONCAT", "CONCAT('a', 'b', NULL)", null],
    ["LENGTH", "LENGTH('né')", 2],
    ["CHAR_LENGTH", "CHAR_LENGTH('né')", 2],
    ["BYTE_LENGTH", "BYTE_LENGTH('né')", 3],
    ["LOWER", "LOWER('É')", "é"],
    ["UPPER", "UPPER('é')", "É"],
    ["TRIM", "TRIM('  a ')", "a"],
    ["LTRIM", "LTRIM('  a ')", "a "],
    ["RTRIM", "RTRIM('  a ')", "  a"],
    ["SUBSTR", "SUBSTR('abc', -2)", "bc"],
    ["SUBSTRING", "SUBSTRING('abc', 2, 1)", "b"],
    ["STARTS_WITH", "STARTS_WITH('abc', 'a')", true],
    ["ENDS_WITH", "ENDS_WITH('abc', 'a')", false],
    ["STRPOS", "STRPOS('abc', 'c')", 3],
    ["REPLACE", "REPLACE('abcb', 'b', '-')", "a-c-"],
    ["REVERSE", "REVERSE('abc')", "cba"],
    ["LEFT", "LEFT('abc', 2)", "ab"],
    ["RIGHT", "RIGHT('abc', 2)", "bc"],
    ["SPLIT", "SPLIT('a,b', ',')[OFFSET(1)]", "b"],
    ["REGEXP_CONTAINS", "REGEXP_CONTAINS('x12', r'\\d')", true],
    ["REGEXP_EXTRACT", "REGEXP_EXTRACT('x12', r'x(\\d)')", "1"],
    ["REGEXP_EXTRACT_ALL", "REGEXP_EXTRACT_ALL('a1b2', r'\\d')", ["1", "2"]],
    ["REGEXP_REPLACE", "REGEXP_REPLACE('a1b2', r'\\d', '#')", "a#b#"],
  ],
  number: [
    ["ABS", "ABS(-1)", 1],
    ["SIGN", "SIGN(-2)", -1],
    ["ROUND", "ROUND(CAST(1.25 AS FLOAT64), 1)", 1.3],
    ["TRUNC", "TRUNC(CAST(1.9 AS FLOAT64))", 1],
    ["CEIL", "CEIL(CAST(1.1 AS FLOAT64))", 2],
    ["CEILING", "CEILING(CAST(1.1 AS FLOAT64))", 2],
    ["FLOOR", "FLOOR(CAST(1.9 AS FLOAT64))", 1],
    ["MOD", "MOD(5 + 2, 3)", 1],
    ["DIV", "DIV(5 + 2, 2)", 3],
    ["SAFE_DIVIDE", "SAFE_DIVIDE(3 + 3, 1 + 1)", 3],
    ["POW", "POW(2, 3)", 8],
    ["POWER", "POWER(2, 3)", 8],
    ["SQRT", "SQRT(4)", 2],
    ["EXP", "EXP(0)", 1],
    ["LN", "LN(1)", 0],
    ["LOG10", "LOG10(100)", 2],
    ["IS_NAN", "IS_NAN(CAST('nan' AS FLOAT64))", true],
    ["IS_INF", "IS_INF(CAST('inf' AS FLOAT64))", true],
  ],
  time: [
    ["CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP() > T", true],
    ["CURRENT_DATE", "CURRENT_DATE() > DATE(T)", true],
    ["TIMESTAMP", "TIMESTAMP('2026-01-31 00:00:00+01:00')", "2026-01-30T23:00:00+00:00"],
    ["TIMESTAMP_TRUNC", "TIMESTAMP_TRUNC(T, HOUR)", "2026-01-31T09:00:00+00:00"],
    ["TIMESTAMP_ADD", "TIMESTAMP_ADD(T, INTERVAL 1 HOUR)", "2026-01-31T10:08:07.654321+00:00"],
    ["TIMESTAMP_SUB", "TIMESTAMP_SUB(T, INTERVAL 2 DAY)", "2026-01-29T09:08:07.654321+00:00"],
    ["TIMESTAMP_DIFF", "TIMESTAMP_DIFF(T, TIMESTAMP '2026-01-31 08:59:00+00', HOUR)", 0],
    ["DATE", "DATE(T)", "2026-01-31"],
    ["DATE_TRUNC", "DATE_TRUNC(DATE '2026-01-31', MONTH)", "2026-01-01"],
    ["DATE_ADD", "DATE_ADD(DATE '2026-01-31', INTERVAL 1 DAY)", "2026-02-01"],
    ["DATE_SUB", "DATE_SUB(DATE '2026-01-31', INTERVAL 1 MONTH)", "2025-12-31"],
    ["DATE_DIFF", "DATE_DIFF(DATE '2026-01-31', DATE '2025-12-31', MONTH)", 1],
    ["EXTRACT", "EXTRACT(DAYOFWEEK FROM T)", 7],
    ["FORMAT_TIMESTAMP", "FORMAT_TIMESTAMP('%Y-%m-%d %H:%M', T)", "2026-01-31 09:08"],
    ["FORMAT_DATE", "FORMAT_DATE('%Y-%m', DATE '2026-01-31')", "2026-01"],
    ["PARSE_TIMESTAMP", "PARSE_TIMESTAMP('%Y-%m-%d %H:%M', '2026-01-31 09:00')", "2026-01-31T09:00:00+00:00"],
    ["PARSE_DATE", "PARSE_DATE('%Y-%m-%d', '2026-01-31')", "2026-01-31"],
    ["UNIX_SECONDS", "UNIX_SECONDS(T)", 1769850487],
    ["UNIX_MILLIS", "UNIX_MILLIS(T)", 1769850487654],
    ["UNIX_MICROS", "UNIX_MICROS(T)", 1769850487654321],
    ["TIMESTAMP_SECONDS", "TIMESTAMP_SECONDS(1)", "1970-01-01T00:00:01+00:00"],
    ["TIMESTAMP_MILLIS", "TIMESTAMP_MILLIS(1)", "1970-01-01T00:00:00.001+00:00"],
    ["TIMESTAMP_MICROS", "TIMESTAMP_MICROS(1)", "1970-01-01T00:00:00.000001+00:00"],
  ],
  JSON: [
    ["PARSE_JSON", document, { a: "x", o: { z: 1 }, l: ["p", "q"] }],
    ["JSON_VALUE", `JSON_VALUE(${document}, '$.a')`, "x"],
    ["JSON_QUERY", `JSON_QUERY(${document}, '$.o')`, { z: 1 }],
    ["JSON_EXTRACT_SCALAR", `JSON_EXTRACT_SCALAR(${document}, '$.o')`, null],
    ["JSON_EXTRACT", `JSON_EXTRACT(${document}, '$.l')`, ["p", "q"]],
    ["JSON_VALUE_ARRAY", `JSON_VALUE_ARRAY(${document}, '$.l')`, ["p", "q"]],
    ["JSON_QUERY_ARRAY", `JSON_QUERY_ARRAY(${document}, '$.l')`, ["p", "q"]],
    ["TO_JSON_STRING", `TO_JSON_STRING(PARSE_JSON('{"a":1}'))`, '{"a":1}'],
    ["JSON_TYPE", "JSON_TYPE(PARSE_JSON('5'))", "number"],
    ["INT64", "INT64(PARSE_JSON('5'))", 5],
    ["FLOAT64", "FLOAT64(PARSE_JSON('5.5'))", 5.5],
    ["STRING", `STRING(PARSE_JSON('"s"'))`, "s"],
    ["BOOL", "BOOL(PARSE_JSON('true'))", true],
  ],
  array: [
    ["ARRAY_LENGTH", "ARRAY_LENGTH([1, 2])", 2],
    ["ARRAY_TO_STRING", "ARRAY_TO_STRING(['a', 'b'], '-')", "a-b"],
    ["ARRAY_CONCAT", "ARRAY_CONCAT([1], [2])", [1, 2]],
    ["ARRAY_REVERSE", "ARRAY_REVERSE([1, 2])", [2, 1]],
    ["ARRAY", "ARRAY(SELECT 1)", [1]],
    ["STRUCT", "STRUCT(1 AS a, 'b' AS b)", { a: 1, b: "b" }],
    ["OFFSET", "[1, 2][OFFSET(0)]", 1],
    ["ORDINAL", "[1, 2][ORDINAL(1)]", 1],
    ["SAFE_OFFSET", "[1, 2][SAFE_OFFSET(5)]", null],
    ["SAFE_ORDINAL", "[1, 2][SAFE_ORDINAL(5)]", null],
  ],
  bytes: [
    ["TO_BASE64", "TO_BASE64(b'abc')", "YWJj"],
    ["FROM_BASE64", "FROM_BASE64('YWJj')", "YWJj"],
    ["TO_HEX", "TO_HEX(b'abc')", "616263"],
    ["MD5", "TO_HEX(MD5('a'))", "0cc175b9c0f1b6a831c399e269772661"],
  ],
};

/** All functions, in the order in which the docs list them. */
export const sqlFunctions: readonly SqlFunction[] = Object.entries(examples).flatMap(([group, rows]) =>
  rows.map(([name, example, answer]) => ({ name, group: group as SqlFunction["group"], example, answer })),
);

export const sqlFunctionNames: ReadonlySet<string> = new Set(sqlFunctions.map(({ name }) => name));
