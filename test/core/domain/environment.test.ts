/** The environment that a deployment declares: names, reserved ones, values, size (contract 4.1). */
import { describe, expect, test } from "vitest";
import { readEnvironment } from "../../../core/domain/environment.ts";

const issuesOf = (raw: unknown) => readEnvironment(raw).issues.map(({ path, type }) => [path.join("."), type]);

test("texts by name are taken as they are", () => {
  const env = { LOG_LEVEL: "debug", _x1: "", lower: "grüß\n" };
  expect(readEnvironment(env)).toEqual({ env, issues: [] });
  expect(readEnvironment({})).toEqual({ env: {}, issues: [] });
});

test("a variable may have a name that objects already have", () => {
  const { env, issues } = readEnvironment(JSON.parse('{"__proto__": "a", "constructor": "b", "toString": "c"}'));
  expect(issues).toEqual([]);
  expect(Object.entries(env)).toEqual([
    ["__proto__", "a"],
    ["constructor", "b"],
    ["toString", "c"],
  ]);
});

describe("refused", () => {
  test.each(["PORT", "CRON_TOKEN", "K_SERVICE", "K_", "PORTSIDE_VOLUMES", "PORTSIDE_"])(
    "%s is the platform's",
    (name) => expect(issuesOf({ [name]: "x" })).toEqual([[name, "value_error"]]),
  );

  test.each(["port", "PORTS", "CRON_TOKENS", "k_service", "PORTSIDE", "MY_PORT", "KAFKA_URL"])("%s is not", (name) =>
    expect(issuesOf({ [name]: "x" })).toEqual([]),
  );

  test.each(["", "1A", "A-B", "A B", "A=B", "é", "A\n"])("%j is no name", (name) =>
    expect(issuesOf({ [name]: "x" })).toEqual([[name, "string_pattern_mismatch"]]),
  );

  test.each([[5], [true], [null], [[]], [{}], [{ toString: 1 }]])("%j is no value", (value) =>
    expect(issuesOf({ A: value })).toEqual([["A", "string_type"]]),
  );

  test("a null byte ends the value for every program", () =>
    expect(issuesOf({ A: "a\0b" })).toEqual([["A", "value_error"]]));

  test.each([[[]], ["text"], [null], [5]])("%j is no environment", (raw) =>
    expect(issuesOf(raw)).toEqual([["", "dict_type"]]),
  );

  test("everything at once, and then nothing of it is taken", () => {
    const raw = { "1A": 5, PORT: "1", FINE: "x" };
    expect(issuesOf(raw)).toEqual([
      ["1A", "string_pattern_mismatch"],
      ["1A", "string_type"],
      ["PORT", "value_error"],
    ]);
    expect(readEnvironment(raw).env).toEqual({});
  });
});

describe("size: names and values with the two bytes around each, in UTF-8", () => {
  const LIMIT = 32 * 1024;
  const filling = (unit: string, bytes: number) => ({ A: unit.repeat((LIMIT - 3) / bytes) });

  test("32 KiB are taken, one byte more is not", () => {
    expect(issuesOf({ A: "x".repeat(LIMIT - 3) })).toEqual([]);
    expect(issuesOf({ A: "x".repeat(LIMIT - 2) })).toEqual([["", "too_large"]]);
  });

  test("bytes are counted, not characters", () => {
    expect(issuesOf(filling("é", 2))).toEqual([]);
    expect(issuesOf({ A: "é".repeat(LIMIT / 2) })).toEqual([["", "too_large"]]);
  });
});
