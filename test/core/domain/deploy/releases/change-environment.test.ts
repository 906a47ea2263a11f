/** How a change of variables merges with the current variables. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DeclaredVariables } from "../../../../../core/domain/deploy/environment.ts";
import {
  changeEnvironment,
  describeEnvironmentChange,
  environmentChangeIssues,
} from "../../../../../core/domain/deploy/releases/change-environment.ts";
import { secretName } from "../../../../arbitraries/secrets.ts";

const name = fc.constantFrom("A", "B", "C", "D").map(String);

const reference = fc.record({ name: secretName(), version: fc.option(fc.integer({ min: 1, max: 9 })) });

/** Variables with values, and variables with references to a secret. */
const variables = fc.dictionary(name, fc.oneof(fc.string(), reference), { noNullPrototype: true }).map((all) => {
  const of = (kind: string) => Object.fromEntries(Object.entries(all).filter(([, value]) => typeof value === kind));
  return { env: of("string"), secrets: of("object") } as DeclaredVariables;
});

const values = (env: Record<string, string>): DeclaredVariables => ({ env, secrets: {} });
const all = ({ env, secrets }: DeclaredVariables): Readonly<Record<string, unknown>> => ({ ...env, ...secrets });

describe("a change of variables", () => {
  test("sets and removes the variables that it names, and keeps the others", () => {
    const change = fc.record({ set: variables, unset: fc.uniqueArray(name) });
    fc.assert(
      fc.property(variables, change, (before, { set, unset }) => {
        const removed = unset.filter((one) => one in all(before) && !(one in all(set)));
        const changed = changeEnvironment(before, { set, unset: removed })._unsafeUnwrap();
        expect(Object.keys(changed.env).filter((one) => one in changed.secrets)).toEqual([]);
        for (const one of ["A", "B", "C", "D"])
          expect(all(changed)[one]).toEqual(
            one in all(set) ? all(set)[one] : removed.includes(one) ? undefined : all(before)[one],
          );
      }),
    );
  });

  test("must not remove a variable that is not set, because its name may be a typo", () => {
    const issues = changeEnvironment(values({ LEVEL: "1" }), {
      set: values({}),
      unset: ["LEVEL", "LEVLE"],
    })._unsafeUnwrapErr();
    expect(issues).toEqual([{ path: ["unset", 1], message: "the variable 'LEVLE' is not set", type: "value_error" }]);
  });

  test("must name at least one variable, and none twice", () => {
    expect(environmentChangeIssues({ set: values({}), unset: [] })).toMatchObject([{ path: ["set"], type: "missing" }]);
    expect(environmentChangeIssues({ set: values({ A: "1" }), unset: ["B", "A"] })).toMatchObject([
      { path: ["unset", 1], type: "value_error" },
    ]);
    expect(environmentChangeIssues({ set: values({ A: "1" }), unset: ["B"] })).toEqual([]);
  });
});

test("the message of the release has the names without the values, in at most 200 characters", () => {
  expect(describeEnvironmentChange({ set: values({ A: "s3cret", B: "2" }), unset: ["C"] })).toBe("Set A, B; Unset C");
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`NAME_${index}`, ""]));
  expect(describeEnvironmentChange({ set: values(many), unset: [] })).toHaveLength(200);
});
