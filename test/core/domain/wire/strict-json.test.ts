/** JSON parsing that never drops data silently, by example. */
import { expect, test } from "vitest";
import { parseStrictJson } from "../../../../core/domain/wire/strict-json.ts";

test.each<[string, unknown]>([
  ["{}", {}],
  [' {"a": 1, "b": [1, {"a": 2}]} ', { a: 1, b: [1, { a: 2 }] }],
  ['"text"', "text"],
  ["null", null],
  ['[{"a":1},{"a":2}]', [{ a: 1 }, { a: 2 }]],
  ['{"a":{"b":1},"b":{"a":1}}', { a: { b: 1 }, b: { a: 1 } }],
  ['{"a":"{\\"b\\":1,\\"b\\":2}"}', { a: '{"b":1,"b":2}' }],
  ['{"a\\\\":1,"a":2}', { "a\\": 1, a: 2 }],
  ['["a","a","a"]', ["a", "a", "a"]],
  ['{"a":"a","b":"a"}', { a: "a", b: "a" }],
])("accepts %s", (text, value) => expect(parseStrictJson(text)).toEqual({ ok: true, value }));

test.each([
  ['{"a":1,"a":2}', "a"],
  ['{"a":1,"b":{"c":1},"a":2}', "a"],
  ['[[{"x":{"deep":1,"deep":1}}]]', "deep"],
  ['{"a":1,"\\u0061":2}', "a"],
  ['{"":1,"":2}', ""],
  ['{"__proto__":1,"__proto__":2}', "__proto__"],
  ['{"a":[1,2],"b":"}{,","a":2}', "a"],
])("rejects the repeated key of %s", (text, key) =>
  expect(parseStrictJson(text)).toEqual({
    ok: false,
    message: `repeats the key ${JSON.stringify(key)}; keep one`,
  }),
);

test.each(["", " ", "{", "{'a':1}", '{"a":1,}', "[1,]", "NaN", "undefined", "01", '"\n"', "{} {}", "\ufeff{}"])(
  "%j is not JSON",
  (text) => {
    const read = parseStrictJson(text);
    expect(read.ok).toBe(false);
    if (!read.ok) expect(read.message).toMatch(/^is not valid JSON: \S/);
  },
);

test("the error does not repeat the text, which may contain a secret", () => {
  const read = parseStrictJson('{"TOKEN": "hunter2", oops}');
  expect(read.ok).toBe(false);
  if (!read.ok) expect(read.message).not.toContain("hunter2");
});

test("accepts 64 levels of nesting, rejects 65", () => {
  expect(parseStrictJson("[".repeat(64) + "]".repeat(64)).ok).toBe(true);
  expect(parseStrictJson("[".repeat(65) + "]".repeat(65))).toEqual({
    ok: false,
    message: "is nested deeper than 64 levels",
  });
});
