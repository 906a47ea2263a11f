/** The environment that a deployment declares: names, reserved names, values and size (contract 4.1). */
import { describe, expect, test } from "vitest";
import { envAliasesProblem, readEnvironment, withAliases } from "../../../../core/domain/deploy/environment.ts";

const issuesOf = (raw: unknown) => readEnvironment(raw).issues.map(({ path, type }) => [path.join("."), type]);

test("accepts valid variables unchanged", () => {
  const env = { LOG_LEVEL: "debug", _x1: "", lower: "grüß\n" };
  expect(readEnvironment(env)).toEqual({ env, secrets: {}, issues: [] });
  expect(readEnvironment({})).toEqual({ env: {}, secrets: {}, issues: [] });
});

test("a variable may be named like a property of Object.prototype", () => {
  const { env, issues } = readEnvironment(JSON.parse('{"__proto__": "a", "constructor": "b", "toString": "c"}'));
  expect(issues).toEqual([]);
  expect(Object.entries(env)).toEqual([
    ["__proto__", "a"],
    ["constructor", "b"],
    ["toString", "c"],
  ]);
});

describe("names and values", () => {
  test.each(["PORT", "CRON_TOKEN", "K_SERVICE", "K_", "PORTSIDE_VOLUMES", "PORTSIDE_"])(
    "%s belongs to the platform",
    (name) => expect(issuesOf({ [name]: "x" })).toEqual([[name, "value_error"]]),
  );

  test.each(["port", "PORTS", "CRON_TOKENS", "k_service", "PORTSIDE", "MY_PORT", "KAFKA_URL"])(
    "%s does not belong to the platform",
    (name) => expect(issuesOf({ [name]: "x" })).toEqual([]),
  );

  test.each(["", "1A", "A-B", "A B", "A=B", "é", "A\n"])("rejects the name %j", (name) =>
    expect(issuesOf({ [name]: "x" })).toEqual([[name, "string_pattern_mismatch"]]),
  );

  test.each([[5], [true], [null], [[]]])("rejects the value %j", (value) =>
    expect(issuesOf({ A: value })).toEqual([["A", "string_type"]]),
  );

  test.each([
    [{}, ["A.secret: missing"]],
    [{ toString: 1 }, ["A.toString: extra_forbidden", "A.secret: missing"]],
    [{ secret: 5 }, ["A.secret: string_type"]],
    [{ secret: "1KEY" }, ["A.secret: string_pattern_mismatch"]],
    [{ secret: "KEY", version: 0 }, ["A.version: int_parsing"]],
    [{ secret: "KEY", version: "1" }, ["A.version: int_parsing"]],
    [{ secret: "KEY", version: null }, ["A.version: int_parsing"]],
    [{ secret: "KEY", versoin: 1 }, ["A.versoin: extra_forbidden"]],
  ])("rejects the reference %j", (value, expected) => {
    expect(issuesOf({ A: value }).map((one) => one.join(": "))).toEqual(expected);
  });

  test("rejects a null byte, which ends the value for every program", () =>
    expect(issuesOf({ A: "a\0b" })).toEqual([["A", "value_error"]]));

  test.each([[[]], ["text"], [null], [5]])("rejects %j as an environment", (raw) =>
    expect(issuesOf(raw)).toEqual([["", "dict_type"]]),
  );

  test("reports every issue together and accepts no part", () => {
    const raw = { "1A": 5, PORT: "1", FINE: "x" };
    expect(issuesOf(raw)).toEqual([
      ["1A", "string_pattern_mismatch"],
      ["1A", "string_type"],
      ["PORT", "value_error"],
    ]);
    expect(readEnvironment(raw).env).toEqual({});
  });
});

test("separates the variables that refer to secrets", () => {
  const raw = { PLAIN: "x", NEWEST: { secret: "KEY" }, FIXED: { secret: "KEY", version: 2 } };
  expect(readEnvironment(raw)).toEqual({
    env: { PLAIN: "x" },
    secrets: { NEWEST: { name: "KEY", version: null }, FIXED: { name: "KEY", version: 2 } },
    issues: [],
  });
});

describe("size: names and values in UTF-8, plus two bytes for each pair", () => {
  const LIMIT = 32 * 1024;
  const filling = (unit: string, bytes: number) => ({ A: unit.repeat((LIMIT - 3) / bytes) });

  test("accepts 32 KiB, rejects one byte more", () => {
    expect(issuesOf({ A: "x".repeat(LIMIT - 3) })).toEqual([]);
    expect(issuesOf({ A: "x".repeat(LIMIT - 2) })).toEqual([["", "too_large"]]);
  });

  test("bytes are counted, not characters", () => {
    expect(issuesOf(filling("é", 2))).toEqual([]);
    expect(issuesOf({ A: "é".repeat(LIMIT / 2) })).toEqual([["", "too_large"]]);
  });
});

describe("aliases of the platform's variables", () => {
  test("have the value of their source variable if it is set", () => {
    const variables = { PORT: "1", CRON_TOKEN: "t" };
    expect(withAliases(variables)).toEqual(variables);
    expect(withAliases(variables, { OTHER: "CRON_TOKEN", MORE: "CRON_TOKEN", DATA: "PORTSIDE_VOLUMES" })).toEqual({
      ...variables,
      OTHER: "t",
      MORE: "t",
    });
  });

  test("must be new names for variables that every provider sets", () => {
    expect(envAliasesProblem({})).toBeUndefined();
    expect(envAliasesProblem({ A: "PORT", B: "CRON_TOKEN", C: "PORTSIDE_VOLUMES" })).toBeUndefined();
    expect(envAliasesProblem({ "A-B": "PORT" })).toMatch(/^the alias 'A-B' is not a valid variable name/);
    expect(envAliasesProblem({ K_TOKEN: "PORT" })).toBe(
      "the alias 'K_TOKEN' is reserved for the platform; choose another",
    );
    expect(envAliasesProblem({ A: "K_SERVICE" })).toBe(
      "the alias 'A' refers to 'K_SERVICE'; it must refer to one of PORT, CRON_TOKEN, PORTSIDE_VOLUMES",
    );
  });
});
