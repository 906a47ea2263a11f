/**
 * Every bound of a deploy's fields: the value on the bound is accepted, the next one is rejected with its issue code.
 */
import { describe, expect, test } from "vitest";
import { MiB } from "../../../../core/domain/accounts/limits.ts";
import { declareDeploy } from "../../../../core/domain/deploy/declaration.ts";
import { fullCapabilities } from "../../../support/providers/capabilities.ts";

const limits = {
  deployments: 1,
  instances: 1000,
  volumes: 1,
  domains: 1,
  buildsAtOnce: 1,
  uploadsAtOnce: 1,
  sqlAtOnce: 1,
  requestsPerMinute: 1,
};

const read = (fields: Readonly<Record<string, unknown>>) =>
  declareDeploy(
    { function_name: "app", volumes: {}, ...fields },
    { capabilities: fullCapabilities, limits, archive: { issues: [] } },
  );

interface Bound {
  readonly field: string;
  readonly inside: readonly unknown[];
  readonly outside: readonly (readonly [unknown, string])[];
}

const integers = (field: string, min: number, max: number): Bound => ({
  field,
  inside: [min, max, String(min), String(max), `+${max}`],
  outside: [
    [min - 1, "greater_than_equal"],
    [String(min - 1), "greater_than_equal"],
    [max + 1, "less_than_equal"],
    [String(max + 1), "less_than_equal"],
    [min + 0.5, "int_parsing"],
    [`${min}.0`, "int_parsing"],
    [` ${min}`, "int_parsing"],
    ["", "int_parsing"],
    [null, "int_parsing"],
    [true, "int_parsing"],
  ],
});

const mounts = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`/m${index}`, "vol"]));
const variables = (bytes: number) => ({ A: "x".repeat(bytes - 3) });

const bounds: readonly Bound[] = [
  integers("port", 1, 65_535),
  integers("timeout", 1, 3600),
  integers("concurrency", 1, 1000),
  integers("max_instances", 0, 1000),
  {
    field: "cpu",
    inside: [0.25, "0.25", "0.5", 0.5, 1, "1.0", "1.5", 8, "8"],
    outside: [
      [0.2, "greater_than_equal"],
      ["0.24", "greater_than_equal"],
      [0, "greater_than_equal"],
      [8.25, "less_than_equal"],
      ["9", "less_than_equal"],
      ["", "int_parsing"],
      [".5", "int_parsing"],
      [" 1", "int_parsing"],
      [null, "int_parsing"],
      [true, "int_parsing"],
    ],
  },
  {
    field: "memory",
    inside: ["128Mi", String(128 * MiB), "0.125Gi", "32Gi", "32768Mi"],
    outside: [
      [String(128 * MiB - 1), "greater_than_equal"],
      ["0", "greater_than_equal"],
      [String(32 * 1024 * MiB + 1), "less_than_equal"],
      ["33Gi", "less_than_equal"],
    ],
  },
  {
    field: "function_name",
    inside: ["a", "a".repeat(49), `a${"_".repeat(47)}b`],
    outside: [
      ["", "string_too_short"],
      ["a".repeat(50), "string_too_long"],
    ],
  },
  {
    field: "volumes",
    inside: [{}, "{}", mounts(10)],
    outside: [
      [mounts(11), "less_than_equal"],
      ["", "missing"],
      [null, "missing"],
      [undefined, "missing"],
    ],
  },
  {
    field: "env",
    inside: [{}, variables(32 * 1024)],
    outside: [[variables(32 * 1024 + 1), "too_large"]],
  },
];

describe.each(bounds)("$field", ({ field, inside, outside }) => {
  test.each(inside.map((value) => [value]))("accepts %j", (value) =>
    expect(read({ [field]: value }).isOk()).toBe(true),
  );

  test.each(outside)("rejects %j: %s", (value, type) => {
    const issues = read({ [field]: value })._unsafeUnwrapErr();
    expect(issues.map((one) => [one.path[0], one.type])).toEqual([[field, type]]);
  });
});
