/** Single fields: form text and JSON values, defaults, and all issues together. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  booleanField,
  type Fields,
  integerField,
  jsonField,
  parseFields,
  type RawFields,
  readField,
  type Values,
} from "../../../../core/domain/wire/fields.ts";
import { issue } from "../../../../core/domain/wire/issue.ts";
import { err, ok } from "../../../../core/result.ts";

const shape = {
  count: integerField({ min: 1, max: 9, default: 3 }, "How many."),
  open: integerField({ min: 0, default: 0 }, "No upper bound."),
  flag: booleanField(false, "Yes or no."),
  word: readField<string>(
    (text) => (text === "ok" ? { value: text } : { problem: "say ok", type: "value_error" }),
    "A word.",
    [],
  ),
  data: jsonField<unknown>(
    (value) => ({ value, issues: value === "bad" ? [issue(["in"], "bad", "value_error")] : [] }),
    {
      description: "JSON.",
    },
  ),
};

/** The valid values, and all issues, of a request with these fields. */
const parsed = <F extends Fields>(fields: F, raw: RawFields) => {
  let values: Partial<Values<F>> = {};
  const result = parseFields(fields, raw, (valid) => {
    values = valid;
    return ok({});
  });
  return { values, issues: result.isErr() ? result.error : [] };
};
const read = (raw: RawFields) => parsed(shape, { word: "ok", data: "{}", ...raw });
const issuesOf = (raw: RawFields) => read(raw).issues.map(({ path, type }) => [path.join("."), type]);

test("absent fields have their defaults", () => {
  expect(read({})).toEqual({ values: { count: 3, open: 0, flag: false, word: "ok", data: {} }, issues: [] });
});

describe("integers", () => {
  test.each([["5"], ["+5"], ["05"], [5]])("%j is five", (value) => expect(read({ count: value }).values.count).toBe(5));
  test.each<[unknown, string]>([
    ["0", "greater_than_equal"],
    ["10", "less_than_equal"],
    ["5.0", "int_parsing"],
    ["5e0", "int_parsing"],
    ["five", "int_parsing"],
    ["", "int_parsing"],
    [5.5, "int_parsing"],
    [Number.NaN, "int_parsing"],
    [null, "int_parsing"],
    [[5], "int_parsing"],
    [{ valueOf: 5 }, "int_parsing"],
    [{ toString: 1 }, "int_parsing"],
  ])("rejects %j: %s", (value, type) => expect(issuesOf({ count: value })).toEqual([["count", type]]));

  test("the message has the bounds and the sent value, shortened", () => {
    expect(read({ count: "x".repeat(100) }).issues[0]?.message).toBe(
      `must be an integer from 1 to 9; got "${"x".repeat(36)}...`,
    );
    expect(read({ open: () => 1 }).issues[0]?.message).toBe("must be an integer of at least 0; got nothing");
    expect(read({ open: -1 }).issues[0]?.message).toBe("must be an integer of at least 0; got -1");
  });

  test.each<[unknown, string]>([
    ["9007199254740992", "less_than_equal"],
    ["99999999999999999999999999", "less_than_equal"],
    [2 ** 53, "less_than_equal"],
    [1e300, "less_than_equal"],
    ["-9007199254740992", "greater_than_equal"],
  ])("%j is beyond 2^53, and the message names the bound", (value, type) => {
    expect(issuesOf({ open: value })).toEqual([["open", type]]);
    expect(read({ open: value }).issues[0]?.message).toBe("must be an integer from 0 to 9007199254740991");
    expect(read({ count: value }).issues[0]?.message).toBe("must be an integer from 1 to 9");
  });

  test("accepts the largest safe integer", () => {
    expect(read({ open: "9007199254740991" }).values.open).toBe(Number.MAX_SAFE_INTEGER);
  });
});

describe("booleans", () => {
  test.each<[unknown, boolean]>([
    ["true", true],
    ["True", true],
    ["TRUE", true],
    ["1", true],
    [true, true],
    ["false", false],
    ["False", false],
    ["0", false],
    [false, false],
  ])("%j is %s", (value, expected) => expect(read({ flag: value }).values.flag).toBe(expected));

  test.each([["yes"], ["on"], [""], ["2"], ["constructor"], ["__proto__"], [1], [0], [null], [[]], [{ toString: 1 }]])(
    "rejects %j",
    (value) => expect(issuesOf({ flag: value })).toEqual([["flag", "bool_parsing"]]),
  );

  test("shows the sent value, not an inherited property of that name", () => {
    expect(read({ flag: "constructor" }).issues[0]?.message).toBe('must be true or false; got "constructor"');
  });
});

describe("texts and JSON", () => {
  test("a required text", () => {
    expect(parsed(shape, { data: 1 }).issues).toEqual([{ path: ["word"], message: "is required", type: "missing" }]);
    expect(issuesOf({ word: 5 })).toEqual([["word", "string_type"]]);
    expect(issuesOf({ word: null })).toEqual([["word", "string_type"]]);
  });

  test("JSON as text and as a value", () => {
    expect(read({ data: '{"a": [1]}' }).values.data).toEqual({ a: [1] });
    expect(read({ data: { a: [1] } }).values.data).toEqual({ a: [1] });
    expect(issuesOf({ data: "{" })).toEqual([["data", "json_invalid"]]);
    expect(issuesOf({ data: '"bad"' })).toEqual([["data.in", "value_error"]]);
  });
});

test("an invalid field does not hide the issues of others, and valid values are returned", () => {
  const { values, issues } = read({ count: "x", flag: "maybe", word: "no", typo: 1, coun: 1 });
  expect(issues.map(({ path }) => path[0])).toEqual(["typo", "coun", "count", "flag", "word"]);
  expect(values).toEqual({ open: 0, data: {} });
});

test("the message for an unknown field suggests a known one, or lists all", () => {
  expect(read({ cont: 1, zzz: 1 }).issues.map(({ message }) => message)).toEqual([
    "unknown field 'cont'; did you mean 'count'?",
    "unknown field 'zzz'; the fields are count, open, flag, word, data",
  ]);
});

test("ignores inherited properties", () => {
  const inherited = Object.create({ count: 5, typo: 1 });
  expect(parseFields({ count: shape.count }, inherited)).toEqual(ok({ count: 3 }));
});

describe("a rule across fields", () => {
  const fields = { count: shape.count, flag: shape.flag };
  const sum = issue(["count"], "too many with the flag", "value_error");
  const check = (raw: RawFields) =>
    parseFields(fields, raw, ({ count, flag }) => {
      if (count === undefined || flag === undefined) return err([]);
      return flag && count > 5 ? err([sum]) : ok({ double: count * 2 });
    });

  test("adds its values to those of the fields", () => {
    expect(check({ count: 4 })).toEqual(ok({ count: 4, flag: false, double: 8 }));
  });

  test("adds its issues after those of the fields", () => {
    expect(check({ count: 9, flag: true })).toEqual(err([sum]));
    const both = check({ count: 9, flag: true, typo: 1 })._unsafeUnwrapErr();
    expect(both.map(({ type }) => type)).toEqual(["extra_forbidden", "value_error"]);
  });

  test("receives undefined for an invalid field", () => {
    expect(
      check({ count: "x", flag: true })
        ._unsafeUnwrapErr()
        .map(({ type }) => type),
    ).toEqual(["int_parsing"]);
  });
});

test("each field describes itself for the OpenAPI document", () => {
  expect(z.toJSONSchema(shape.count)).toMatchObject({ description: "How many.", default: 3, minimum: 1, maximum: 9 });
});
