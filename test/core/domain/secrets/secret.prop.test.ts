/** Names and values of secrets: each is accepted or rejected by its rule, and no issue repeats a value. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseSecretValue, secretQuotaProblem } from "../../../../core/domain/secrets/secret.ts";
import { parseFields } from "../../../../core/domain/wire/fields.ts";
import { secretNameProblem } from "../../../../core/domain/wire/names.ts";
import { deleteSecretFields, setSecretFields } from "../../../../core/domain/wire/requests.ts";
import { nastyString, secretName, secretValue } from "../../../arbitraries/index.ts";
import { runs } from "../../../support/vitest/runs.ts";

describe("a name", () => {
  test("is accepted if it is valid", () => {
    fc.assert(
      fc.property(secretName(), (name) => void expect(secretNameProblem(name)).toBeUndefined()),
      runs(300),
    );
  });

  test("is accepted or rejected by its rule alone", () => {
    fc.assert(
      fc.property(fc.oneof(nastyString(), fc.string({ maxLength: 80 })), (name) => {
        expect(secretNameProblem(name) === undefined).toBe(
          /^[A-Za-z][A-Za-z0-9_-]{0,62}$/.test(name) && !/\n/.test(name),
        );
      }),
      runs(500),
    );
  });

  test.each([
    ["", "a secret name must not be empty"],
    ["X".repeat(64), "a secret name must be at most 63 characters; got 64"],
    ["A.B", "a secret name must contain only letters a-z, A-Z, digits, '_' and '-'"],
    ["1KEY", "a secret name must start with a letter"],
    ["_KEY", "a secret name must start with a letter"],
  ])("%j is rejected with its reason", (name, problem) => expect(secretNameProblem(name)).toBe(problem));
});

describe("a value", () => {
  test("is accepted unchanged if it is valid", () => {
    fc.assert(
      fc.property(secretValue(), (value) => void expect(parseSecretValue(value)._unsafeUnwrap()).toBe(value)),
      runs(300),
    );
  });

  test.each([
    ["1 byte", "a"],
    ["64 KiB of one-byte characters", "a".repeat(65_536)],
    ["64 KiB of four-byte characters", "😀".repeat(16_384)],
  ])("may have %s", (_what, value) => expect(parseSecretValue(value).isOk()).toBe(true));

  test.each([
    [undefined, "missing"],
    [null, "string_type"],
    [12_345, "string_type"],
    [{ deep: "hidden" }, "string_type"],
    ["", "string_too_short"],
    ["a\0hidden", "value_error"],
    ["hidden\ud800", "value_error"],
    ["é".repeat(32_769), "too_large"],
  ])("%j is rejected without repeating it", (value, type) => {
    const [issue, ...others] = parseSecretValue(value)._unsafeUnwrapErr();
    expect(others).toEqual([]);
    expect(issue?.type).toBe(type);
    expect(issue?.message).not.toMatch(/hidden|12345|éé/);
  });
});

test("a request reports every issue, with the field and without the value", () => {
  const issues = parseFields(setSecretFields, { name: "1", value: 12_345, redeploy: "maybe", valeu: "x" });
  expect(issues._unsafeUnwrapErr().map(({ path, type }) => `${path.join(".")}: ${type}`)).toEqual([
    "valeu: extra_forbidden",
    "name: string_pattern_mismatch",
    "value: string_type",
    "redeploy: bool_parsing",
  ]);
  expect(JSON.stringify(issues._unsafeUnwrapErr())).not.toContain("12345");
});

test("the version of a delete request is a number, a text, or absent", () => {
  const version = (raw: unknown) => parseFields(deleteSecretFields, { name: "KEY", version: raw });
  expect([2, "2", null, "", undefined].map((raw) => version(raw)._unsafeUnwrap().version ?? null)).toEqual([
    ...[2, 2, null, null, null],
  ]);
  for (const raw of [0, -1, 1.5, "x", true]) expect(version(raw).isErr(), String(raw)).toBe(true);
});

test("an account may have 100 secrets", () => {
  expect(secretQuotaProblem(100)).toBeUndefined();
  expect(secretQuotaProblem(101)).toBe("your account may have at most 100 secrets; delete one first");
});
