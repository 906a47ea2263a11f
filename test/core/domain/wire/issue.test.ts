/** How zod's issues become the stable codes of contract section 3. */
import { expect, test } from "vitest";
import { z } from "zod";
import { custom, issuesOf, issueTypes, unknownField } from "../../../../core/domain/wire/issue.ts";

const typesOf = (schema: z.ZodType, value: unknown) => {
  const parsed = z.safeParse(schema, value, { reportInput: true });
  return parsed.success ? [] : issuesOf(parsed.error, ["name"]).map(({ path, type }) => [path.join("."), type]);
};

test.each<[string, z.ZodType, unknown, string]>([
  ["an absent value", z.string(), undefined, "missing"],
  ["a wrong type where text belongs", z.string(), 5, "string_type"],
  ["a wrong type where a number belongs", z.int(), "x", "int_parsing"],
  ["a wrong type where a boolean belongs", z.boolean(), "x", "bool_parsing"],
  ["a wrong type where an object belongs", z.object({}), "x", "dict_type"],
  ["a short text", z.string().min(2), "a", "string_too_short"],
  ["a long text", z.string().max(2), "abc", "string_too_long"],
  ["a small number", z.int().min(2), 1, "greater_than_equal"],
  ["a large number", z.int().max(2), 3, "less_than_equal"],
  ["a number past all integers", z.int(), 2 ** 60, "less_than_equal"],
  ["a text that does not match", z.string().regex(/^a$/), "b", "string_pattern_mismatch"],
  ["anything else", z.union([z.string(), z.null()]), 5, "value_error"],
])("%s: %s", (_what, schema, value, type) => expect(typesOf(schema, value)).toEqual([["", type]]));

test("a field that is not in the schema: extra_forbidden", () => {
  expect(typesOf(z.strictObject({ name: z.string() }), { name: "a", nam: "b" })).toEqual([["nam", "extra_forbidden"]]);
});

test("checks of Portside keep their code and path", () => {
  const schema = z.string().transform((_text, ctx) => {
    ctx.addIssue(custom("no room", "quota_exceeded", ["deep", 0]));
    return z.NEVER;
  });
  expect(typesOf(schema, "x")).toEqual([["deep.0", "quota_exceeded"]]);
});

test("a check without a code is a value_error", () => {
  expect(
    typesOf(
      z.string().refine(() => false),
      "x",
    ),
  ).toEqual([["", "value_error"]]);
});

test("a path segment that is not a string becomes one, because a path is JSON", () => {
  const parsed = z.map(z.symbol(), z.string()).safeParse(new Map([[Symbol("key"), 5]]), { reportInput: true });
  expect(issuesOf(parsed.error as z.ZodError).map(({ path }) => path)).toEqual([["Symbol(key)"]]);
});

test("an unknown field has a hint", () => {
  expect(unknownField(["a"], "nam", ["name"])).toEqual({
    path: ["a", "nam"],
    message: "unknown field 'nam'; did you mean 'name'?",
    type: "extra_forbidden",
  });
});

test("the codes are the contract's, each once", () => {
  expect(new Set(issueTypes).size).toBe(issueTypes.length);
  for (const word of [
    "missing",
    "extra_forbidden",
    "int_parsing",
    "greater_than_equal",
    "less_than_equal",
    "string_pattern_mismatch",
    "json_invalid",
    "value_error",
    "quota_exceeded",
    "too_large",
    "archive_invalid",
  ])
    expect(issueTypes).toContain(word);
});
